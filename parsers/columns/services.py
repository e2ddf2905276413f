"""Ports that tools print by the name of their service."""

from __future__ import annotations

SERVICES = {
    "ftp": 21,
    "ssh": 22,
    "telnet": 23,
    "smtp": 25,
    "domain": 53,
    "http": 80,
    "kerberos": 88,
    "sunrpc": 111,
    "rpcbind": 111,
    "ntp": 123,
    "snmp": 161,
    "bgp": 179,
    "ldap": 389,
    "https": 443,
    "microsoft-ds": 445,
    "login": 513,
    "shell": 514,
    "syslog": 514,
    "ldaps": 636,
    "ncube-lm": 1521,
    "nfs": 2049,
    "nfsd": 2049,
    "mysql": 3306,
    "postgresql": 5432,
    "http-alt": 8080,
}
"""Ports that tools print by name unless -n was used; 1521 is registered as ncube-lm."""

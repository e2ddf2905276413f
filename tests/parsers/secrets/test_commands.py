"""Test secrets in command lines: a line for each command of the table, and similar lines without a secret."""

from __future__ import annotations

import re

import pytest

from parsers.secrets.commands import COMMANDS
from parsers.secrets.words import CLOSER, without_secrets
from tests.parsers.secrets.test_planted_forms import scanned

S = "Zq12xW7k9"
LINES = {
    "configure set": f"aws --profile x configure set aws_secret_access_key {S}",
    "openssl": f"openssl enc -aes-256-cbc -in a -out b -k {S}",
    "htpasswd": f"htpasswd -cb /etc/httpd/users ada {S}",
    "mosquitto_passwd": f"mosquitto_passwd -b /etc/mosquitto/pw ada {S}",
    "mosquitto_": f"mosquitto_pub -h broker -u ada -P {S} -t a/b -m x",
    "net use": rf"net use Z: \\files\share {S} /user:CORP\ada",
    "net user": f"net user ada {S} /add",
    "docker": f"docker login -u ada -p {S} registry.example.com",
    "podman": f"podman login registry.example.com -u ada -p={S}",
    "buildah": f"buildah login -u ada -p {S} registry.example.com",
    "nerdctl": f"nerdctl login -u ada -p {S}",
    "skopeo": f"skopeo login -u ada -p {S} registry.example.com",
    "helm": f"helm registry login -u ada -p {S} registry.example.com",
    "oras": f"oras login -u ada -p {S} registry.example.com",
    "az login": f"az login --service-principal -u app -p {S} --tenant t",
    "cf login": f"cf login -a api.example.com -u ada -p {S}",
    "vault login": f"vault login -no-print {S}",
    "bcp ": f"bcp db.dbo.t out t.dat -S db1 -U sa -P {S}",
    "rabbitmqctl": f"rabbitmqctl add_user ada {S}",
    "wpa_passphrase": f'wpa_passphrase "Our Net" {S}',
    "lftp": f"lftp -u ada,{S} sftp://files",
    "db2 ": f"db2 connect to PROD user ada using {S}",
    "psexec": rf"psexec \\db1 -u ada -p {S} cmd",
    "schtasks": f"schtasks /create /tn x /ru ada /rp {S} /tr cmd",
    "freerdp": f"xfreerdp /u:ada /p:{S} /v:db1",
    "rclone obscure": f"rclone obscure {S}",
    "mc alias set": f"mc alias set store https://s3.example.com ADA {S}",
    "ssh-keygen": f"ssh-keygen -t ed25519 -N {S} -f id",
    "winexe": f"winexe -U ada%{S} //db1 cmd",
    "rpcclient": f"rpcclient -U ada%{S} db1",
    "smbget": f"smbget -U ada%{S} smb://files/a",
    "smbcacls": f"smbcacls //files/share a -U ada%{S}",
    "smbclient": f"smbclient //files/share -U ada%{S}",
    "etcdctl": f"etcdctl --endpoints x --user root:{S} get a",
    "radtest": f"radtest ada {S} radius1 0 testing",
    "useradd": f"useradd -m -p {S} ada",
    "usermod": f"usermod -p {S} ada",
    "cqlsh": f"cqlsh db1 -u ada -p {S}",
    "hdbsql": f"hdbsql -n db1 -u ADA -p {S}",
    "vsql": f"vsql -h db1 -U ada -w {S}",
}
MORE = [
    rf"net use \\files\share /user:CORP\ada {S}",
    f"htpasswd -nbB ada {S}",
    f"12:01:02 ada 4711 openssl des3 -d -k {S} -in x",
    f"docker login --username ada -p '{S}' registry",
    f"vault login {S}",
    f"1000 4711 1 0 12:00 ? 00:00:00 /usr/bin/docker login -u ada -p {S}",
]
HARMLESS = [
    "docker run -p 8080:80 nginx login",
    "net user growth was 4 % / month",
    r"net use Z: \\files\share /persistent:yes",
    "vault login -method=userpass username=ada",
    "openssl s_client -connect db1:443 -showcerts",
    "htpasswd -c /etc/httpd/users ada",
    "ssh-keygen -l -f /etc/ssh/key",
    "useradd -m -s /bin/sh ada",
    "db2 connect to PROD",
    "openssl enc -k $KEY -in a",
    "rabbitmqctl list_users",
]


def test_every_command_has_a_line() -> None:
    assert [command.word for command in COMMANDS] == list(LINES)


@pytest.mark.parametrize("line", [*LINES.values(), *MORE])
def test_the_secret_is_masked_and_nothing_else(line: str) -> None:
    expected = line.replace(S, "*" * len(S))
    assert without_secrets(line) == expected
    assert scanned([f"$ {line}", "ada"])[0] == f"$ {expected}"


@pytest.mark.parametrize("line", HARMLESS)
def test_a_command_without_a_secret_stays(line: str) -> None:
    assert scanned([line]) == [line]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.word)
def test_a_line_with_the_secret_is_looked_at(command) -> None:
    line = LINES[command.word].lower()
    assert command.word in line
    assert command.source
    assert re.search(CLOSER, line)

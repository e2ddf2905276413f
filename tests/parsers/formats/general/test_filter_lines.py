"""Test that packet filter rules are read with their counters, by table and chain, and other numbers are not."""

from __future__ import annotations

from parsers.formats.general.text.filter_lines import State, filtered

LISTED = """\
Chain INPUT (policy DROP 3 packets, 180 bytes)
num   pkts bytes target     prot opt in     out     source               destination
1     2011K  180M ACCEPT     all  --  lo     *       0.0.0.0/0            0.0.0.0/0
2        9   540            tcp  --  *      *       10.1.0.0/16          0.0.0.0/0            tcp dpt:22
Chain OUTPUT (policy ACCEPT 2M packets, 1G bytes)
    pkts      bytes target     prot opt in     out     source               destination
       7      560 REJECT     tcp      *      eth0    ::/0                 ::/0                 tcp dpt:25
""".splitlines()

NFT = """\
table ip nat {
	chain input { # handle 1
		ct state invalid counter packets 12 bytes 720 log prefix "bad " drop
		counter packets 5 bytes 300
""".splitlines()

SAVED = ["*mangle", ":INPUT ACCEPT [10:600]", "[3:180] -A INPUT -p tcp -j DROP", "[4:240] -A OUTPUT -j MARK"]


def read(lines: list[str]) -> list[tuple[str | None, str, float]]:
    state: State = {}
    return [(item, name, value) for line in lines for _, item, name, value in filtered(line, state) or ()]


def packets(lines: list[str]) -> list[tuple[str | None, float]]:
    return [(item, value) for item, name, value in read(lines) if name == "packets"]


def test_iptables_with_and_without_numbers_targets_and_options() -> None:
    assert packets(LISTED) == [
        ("INPUT policy: DROP", 3.0),
        ("INPUT rule 1: ACCEPT lo", 2_011_000.0),
        ("INPUT rule 2: goes on 10.1.0.0/16 tcp dpt:22", 9.0),
        ("OUTPUT policy: ACCEPT", 2_000_000.0),
        ("OUTPUT rule 1: REJECT eth0 tcp dpt:25", 7.0),
    ]
    assert ("OUTPUT rule 1: REJECT eth0 tcp dpt:25", "bytes", 560.0) in read(LISTED)


def test_nft_says_the_action_behind_the_counter() -> None:
    assert packets(NFT) == [("ip nat input rule 1: drop ct state invalid", 12.0), ("ip nat input rule 2: goes on", 5.0)]


def test_saved_rules_of_two_tables_are_apart() -> None:
    assert packets(SAVED) == [
        ("mangle INPUT policy: ACCEPT", 10.0),
        ("mangle INPUT rule 1: DROP -p tcp", 3.0),
        ("mangle OUTPUT rule 1: MARK", 4.0),
    ]
    assert packets(["*filter", SAVED[2]]) == [("INPUT rule 1: DROP -p tcp", 3.0)]


def test_ipfw_numbers_its_rules() -> None:
    assert packets(["00300 71 4260 deny ip from any to any", "65535 9 540 count"]) == [
        ("rule 300: deny ip from any to any", 71.0),
        ("rule 65535: count", 9.0),
    ]


def test_a_row_without_a_chain_is_no_rule() -> None:
    assert filtered(LISTED[2], {}) is None
    assert filtered("Chain of events (policy)", {}) is None
    assert filtered("\t\tcounter packets 5 bytes 300", {}) is None

"""Look-ups by hand: what failed, what came late, and what was answered at once."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.name_lookups import LOOKUP, observe
from rules.observers.observer import Sighting
from tests.parsers.formats.evidence import read_bytes


def seen(text: str) -> list[Sighting]:
    tables = read_bytes(text.encode()).tables
    return list(observe(Case.of_tables({"rows": tables["rows"].to_dicts()}))) if "rows" in tables else []


def dig(name: str, kind: str, server: str, status: str, ms: int, *answers: str) -> str:
    records = "".join(f"{name}.\t\t300\tIN\t{kind}\t{a}\n" for a in answers)
    return (
        f"\n; <<>> DiG 9.16.1 <<>> {name} {kind} @{server}\n;; global options: +cmd\n;; Got answer:\n"
        f";; ->>HEADER<<- opcode: QUERY, status: {status}, id: 77\n\n;; QUESTION SECTION:\n;{name}.\t\t\tIN\t{kind}\n\n"
        f";; ANSWER SECTION:\n{records}\n;; Query time: {ms} msec\n;; SERVER: {server}#53({server})\n"
    )


def test_a_question_that_fails_is_told_beside_the_one_that_is_answered() -> None:
    made = seen(
        dig("shop.example", "A", "10.0.0.3", "NOERROR", 6, "10.1.1.1", "10.1.1.2", "10.1.1.3")
        + dig("shop.example", "AAAA", "10.0.0.3", "SERVFAIL", 1900)
        + dig("shop.example", "AAAA", "10.0.0.4", "SERVFAIL", 40)
    )
    assert [(s.normal, s.failure) for s in made] == [(False, True), (True, False)]
    assert made[0].headline == (
        "AAAA? shop.example was answered SERVFAIL by 10.0.0.3 after 1.900 s and by 10.0.0.4 after 40 ms"
    )
    assert made[0].beside == "A? shop.example was answered by 10.0.0.3 in 6 ms: 10.1.1.1, 10.1.1.2 and 1 more"
    assert made[0].seen == ({"log": ";; ->>HEADER<<- opcode: QUERY, status: SERVFAIL, id: 77"},)
    assert made[1].headline == made[0].beside


def test_silence_is_told_once_with_its_time_outs() -> None:
    silent = ";; communications error to 10.0.0.3#5353: timed out\n"
    (made,) = seen(
        f"$ dig db2.example AAAA @10.0.0.3 -p 5353\n{silent}{silent}\n; <<>> DiG 9.18.1 <<>> db2.example AAAA @10.0.0.3 -p 5353\n"
        ";; global options: +cmd\n;; no servers could be reached\n"
    )
    assert made.headline == "AAAA? db2.example got no answer from 10.0.0.3#5353, 2 time-outs"
    assert [c.line_from for c in made.lines] == [5, 2, 3]


WINDOWS = """C:\\>nslookup intranet.example 10.0.0.3
DNS request timed out.
    timeout was 4 seconds.
Serveur :   UnKnown
Address:  10.0.0.3

DNS request timed out.
    timeout was 4 seconds.
Nom :    intranet.example
Addresses:  fd00::7
          10.2.0.7
"""


def test_an_answer_after_time_outs_is_told_with_its_server_in_any_language() -> None:
    (made,) = seen(WINDOWS)
    assert made.headline == (
        "intranet.example was answered by 10.0.0.3 (UnKnown) after 2 time-outs of 4.000 s: fd00::7, 10.2.0.7"
    )
    assert made.beside == (
        "1 of the 2 time-outs came before the name of the server, which stayed unknown: nslookup of Windows asks for that first"
    )
    assert made.seconds == 8.0
    (known,) = seen(WINDOWS.replace("UnKnown", "dc1.example"))
    assert known.beside is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("$ host db3.example 10.0.0.3\nHost db3.example not found: 3(NXDOMAIN)\n", "db3.example was answered NXDOMAIN (no such name) by 10.0.0.3"),
        ("$ host -t AAAA db3.example\nHost db3.example not found: 2(SERVFAIL)\n", "AAAA? db3.example was answered SERVFAIL"),
        ("$ resolvectl query db3.example\ndb3.example: 10.0.0.9            -- link: eth0\n\n-- Information acquired via protocol DNS in 2.5s.\n",
            "db3.example was answered after 2.500 s: 10.0.0.9"),
        ("$ resolvectl query 10.0.0.9\n10.0.0.9: resolve call failed: Query timed out\n", 'PTR? 10.0.0.9 failed ("Query timed out")'),
        ("$ nslookup db3.example\nServer:\t\t10.0.0.3\nAddress:\t10.0.0.3#53\n\n** server can't find db3.example: REFUSED\n",
            "db3.example was answered REFUSED by 10.0.0.3"),
        ("$ dig -x 10.0.0.9 @10.0.0.3 | grep status\n;; ->>HEADER<<- opcode: QUERY, status: NXDOMAIN, id: 9\n",
            "PTR? 10.0.0.9 was answered NXDOMAIN (no such name) by 10.0.0.3"),
        (dig("db3.example", "AAAA", "10.0.0.3", "NOERROR", 5000), "AAAA? db3.example was answered by 10.0.0.3 after 5.000 s: there is no such record"),
    ],
)  # fmt: skip
def test_forms_of_the_tools(text: str, says: str) -> None:
    (made,) = seen(text)
    assert made.headline == says
    assert not made.normal


@pytest.mark.parametrize(
    "text",
    [
        "$ host db3.example 10.0.0.3\ndb3.example has address 10.0.0.9\n",
        "$ resolvectl query db3.example\ndb3.example: 10.0.0.9\n\n-- Information acquired via protocol DNS in 3.1ms.\n",
        "$ nslookup db3.example\nServer:\t\t10.0.0.3\nAddress:\t10.0.0.3#53\n\nNon-authoritative answer:\nName:\tdb3.example\nAddress: 10.0.0.9\n",
        dig("db3.example", "A", "10.0.0.3", "NOERROR", 12, "10.0.0.9"),
    ],
)
def test_an_answer_without_delay_is_normal(text: str) -> None:
    (made,) = seen(text)
    assert made.normal
    assert "db3.example was answered" in made.headline
    assert made.headline.endswith(": 10.0.0.9")


def test_other_text_is_no_look_up() -> None:
    assert seen("The server has address translation.\nHost db1 not found: ask Ann\n") == []
    assert seen("db3.example. 300 IN A 10.0.0.9\nName: x\nAddress: 10.0.0.9\n") == []
    assert list(observe(Case.of_tables({"rows": [{"line_no": 1, "heading": [LOOKUP], "cells": []}]}))) == []


def test_lines_without_their_command_are_put_together_by_what_they_print() -> None:
    made = seen(
        ";; ->>HEADER<<- opcode: QUERY, status: REFUSED, id: 1\n;; Query time: 3 msec\n;; SERVER: 10.0.0.3#53(10.0.0.3)\n"
        ";; ->>HEADER<<- opcode: QUERY, status: REFUSED, id: 2\n"
    )
    assert [s.headline for s in made] == ["a name was answered REFUSED by 10.0.0.3 after 3 ms"]
    (late,) = seen("DNS request timed out.\n    timeout was 2 seconds.\n*** Request to dc1.example timed-out\n")
    assert late.headline == "a name got no answer"
    (found,) = seen("9.0.0.10.in-addr.arpa domain name pointer db9.example.\n")
    assert found.headline == "9.0.0.10.in-addr.arpa was answered: db9.example."


def test_options_of_the_commands_are_no_names() -> None:
    (by_dig,) = seen(
        "$ dig -t mx +short -b 10.0.0.1 mail.example @10.0.0.3 -4\n;; connection timed out; no servers could be reached\n"
    )
    assert by_dig.headline == "MX? mail.example got no answer from 10.0.0.3"
    (by_windows,) = seen(
        "C:\\>nslookup -type=srv _ldap.example 10.0.0.3\nServer:  dc1\nAddress:  10.0.0.3\n\n"
        "*** dc1 can't find _ldap.example: Non-existent domain\n"
    )
    assert by_windows.headline == "SRV? _ldap.example was answered NXDOMAIN (no such name) by 10.0.0.3"
    (by_bind,) = seen("$ nslookup db9.example\n;; connection timed out; no servers could be reached\n")
    assert by_bind.headline == "db9.example got no answer"
    (plain,) = seen("$ time dig db9.example\n;; connection timed out; no servers could be reached\n")
    assert plain.headline == "A? db9.example got no answer"


def test_one_time_out_for_the_name_of_the_server() -> None:
    (made,) = seen(
        "C:\\>nslookup db9.example\nDNS request timed out.\n    timeout was 2 seconds.\nServer:  UnKnown\nAddress:  10.0.0.3\n\n"
        "Name:    db9.example\nAddress:  10.0.0.9\n"
    )
    assert made.beside is not None
    assert made.beside.startswith("the time-out came before the name of the server, which stayed unknown")


def test_the_server_that_host_names_is_told() -> None:
    (made,) = seen(
        "$ host db9.example ns1.example\nUsing domain server:\nName: ns1.example\nAddress: 10.0.0.3#53\nAliases: \n\n"
        "Host db9.example not found: 2(SERVFAIL)\n"
    )
    assert made.headline == "db9.example was answered SERVFAIL by 10.0.0.3"


FAILED_THEN_MENDED = """[root@app1 ~]# nslookup shop.example 10.0.0.3
;; connection timed out; no servers could be reached
[root@app1 ~]# {command}
done
[root@app1 ~]# nslookup shop.example 10.0.0.3
Server:		10.0.0.3
Address:	10.0.0.3#53

Name:	shop.example
Address: 10.1.1.1
"""


def test_the_command_between_a_failure_and_an_answer_stands_beside_it() -> None:
    made = seen(FAILED_THEN_MENDED.format(command="ethtool -K tun0 tx off"))
    assert made[0].headline == "shop.example got no answer from 10.0.0.3"
    assert made[0].beside == 'shop.example was answered by 10.0.0.3: 10.1.1.1, after "ethtool -K tun0 tx off"'
    assert [c.line_from for c in made[0].lines] == [1, 2, 3, 5, 6, 7, 9, 10]
    long = seen(FAILED_THEN_MENDED.format(command="x" * 100))
    assert f'"{"x" * 77}..."' in str(long[0].beside)


def test_a_command_behind_the_answer_is_not_what_made_it() -> None:
    first = FAILED_THEN_MENDED.format(command="date").split("[root@app1 ~]# ")
    made = seen("[root@app1 ~]# ".join([first[0], first[3], first[2], first[1]]))
    assert made[0].beside == "shop.example was answered by 10.0.0.3: 10.1.1.1"


def test_an_answer_without_a_time_has_none() -> None:
    made = seen(
        "$ nslookup shop.example 10.0.0.3\nServer:\t\t10.0.0.3\nAddress:\t10.0.0.3#53\n\nName:\tshop.example\nAddress: 10.1.1.1\n"
    )
    assert [(s.name, s.value, s.unit) for s in made] == [("lookups of shop.example", 1.0, "count")]

"""Every entry of every list recognises its own example, names a known mechanism and a source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rules.errors import RuleInvalid
from rules.judging.scoring import CAUSES
from rules.reporting import signature_docs
from rules.signatures import signatures as lists
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import SEARCHED, Signature, areas, recognise, signatures

ENTRIES = [(f"{key}/{area}", n, one) for key, area in areas() for n, one in enumerate(signatures(key, area), 1)]


def seen_in(key: str, one: Signature) -> dict[str, Any]:
    """Return what an observation would see of the example: the example itself if it is a mapping, else the name in it."""
    if isinstance(one.example, dict):
        return one.example
    assert set(one.match) == {key}, "an entry with several keys needs an example with the same keys"
    if key in SEARCHED:
        return {key: one.example}
    found = re.search(rf"(?<!\w)(?:{one.match[key]})(?!\w)", str(one.example), re.IGNORECASE)
    assert found, f"{one.match} does not stand in {one.example!r}"
    return {key: found[0]}


@pytest.mark.parametrize("area", [f"{key}/{area}" for key, area in areas()])
def test_each_example_matches_its_own_entry_and_no_other_mechanism(area: str) -> None:
    wrong = []
    for name, n, one in ENTRIES:
        if name != area:
            continue
        seen = seen_in(name.split("/")[0], one)
        found = recognise(**seen)
        if one not in found:
            wrong.append(f"{name} {n}: {one.example!r} does not match its own entry {one.match}")
        wrong += [
            f"{name} {n}: {seen} is also {other.match} ({other.mechanism}), as specific as its own"
            for other in found
            if other.mechanism != one.mechanism
            and len(other.match) >= len(one.match)
            # A remark gives way to an entry that says more.
            and (other.strength != "remark" or one.strength == "remark")
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("area", [f"{key}/{area}" for key, area in areas()])
def test_each_entry_has_words_and_a_source(area: str) -> None:
    for name, n, one in ENTRIES:
        if name == area:
            assert one.is_.strip(), f"{name} {n}"
            assert one.source.strip(), f"{name} {n}"
            assert not one.is_.endswith("."), f"{name} {n}: {one.is_}"
            assert one.strength != "harmless" or one.mechanism is None, f"{name} {n}: harmless, so no mechanism"


def test_each_mechanism_has_a_column_on_the_board_and_something_against_it() -> None:
    for one in mechanisms().values():
        assert one.hypothesis in CAUSES, one.mechanism
        assert one.next, f"{one.mechanism} says nothing that would prove it"
        assert one.contradicted_by or one.none_known, f"{one.mechanism} names nothing that would contradict it"
        assert all(other in mechanisms() for other in (*one.looks_like, *one.brings)), one.mechanism
        assert all(c.mechanism is None or c.mechanism in mechanisms() for c in one.contradicted_by), one.mechanism


def test_an_entry_with_several_keys_wins_over_one_with_fewer() -> None:
    assert recognise(stack="no_such_function_at_all") == ()


LIKE: list[tuple[str, str]] = [
    ("packets-dropped", "connect to mx.two.example[192.0.2.25]:25: Connection timed out"),
    ("packets-dropped", 'Get "https://192.0.2.7:8443/a": dial tcp 192.0.2.7:8443: i/o timeout'),
    ("packets-dropped", "java.net.SocketTimeoutException: connect timed out"),
    ("packets-dropped", "npm ERR! reason: connect ETIMEDOUT 192.0.2.7:443"),
    (
        "packets-dropped",
        "upstream timed out (110: Connection timed out) while connecting to upstream, client: 192.0.2.3",
    ),
    ("packets-dropped", "Server be_shop/s2 is DOWN, reason: Layer4 timeout, check duration: 2001ms."),
    ("packets-dropped", "1abc-AA == ann@one.example T=remote_smtp defer (110): Connection timed out H=mx.one.example"),
    ("consumer-behind", "Slow Consumer Detected: MaxPending of 65536 Exceeded"),
    ("proxy-wait", "upstream timed out (110: Connection timed out) while sending request to upstream"),
    ("service-timeout", "java.net.SocketTimeoutException: Read timed out"),
    ("port-exhaustion", "dial tcp 192.0.2.9:6379: connect: cannot assign requested address"),
    ("watch-limit", "add_watch: cannot watch /srv/www WD=-1, Errno=No space left on device (ENOSPC)"),
    ("file-system-full", "write /srv/www/a.log: No space left on device"),
    ("start-dependency", "Gave up waiting for root file system device.  Common problems:"),
    ("start-dependency", "ALERT!  /dev/mapper/vg0-root does not exist.  Dropping to a shell!"),
    ("start-dependency", "Error: Unable to get quorum status: Unable to start votequorum status tracking"),
    (
        "path-failover",
        "nfnic: <1>: INFO: fnic_fdls_link_status_change: 98: fnic2: FDLS link status change link up:0, usefip:0",
    ),
    ("disk-latency", "etcdserver: apply entries took too long [412.5ms for 1 entries]"),
    ("rate-limited", 'throttled for operation VolumeList with reason "too many calls"'),
    ("rate-limited", "received prior goaway: code: ENHANCE_YOUR_CALM"),
    ("quota-reached", "Error 403: Quota exceeded for quota metric 'Reads' and limit 'Reads per day'"),
]
"""Texts beside the examples of entries whose programs word one thing in several ways."""


@pytest.mark.parametrize(("mechanism", "text"), LIKE)
def test_other_programs_say_the_same(mechanism: str, text: str) -> None:
    assert recognise(log=text)[0].mechanism == mechanism


UNLIKE = [
    ("file-system-full", {"log": "FATAL:  could not create semaphores: No space left on device"}),
    ("file-system-full", {"log": "inotify_add_watch(4, /srv) failed: No space left on device"}),
    ("file-system-full", {"log": "device-mapper: thin: 253:4: switching pool to write mode"}),
    ("instance-restart", {"log": "archive command was terminated by signal 15: Terminated"}),
    ("vacuum-behind", {"log": 'automatic aggressive vacuum to prevent wraparound of table "a.b.c": index scans: 1'}),
    ("pool-exhausted", {"log": "pooler error: no such database: shop"}),
    ("pool-exhausted", {"log": "DHCP address pool exhausted"}),
    ("session-limit", {"log": "421 4.7.0 Too many connections from your address"}),
    ("process-limit", {"log": "bash: fork: Cannot allocate memory"}),
    ("process-limit", {"log": "thread 7: recv: Resource temporarily unavailable"}),
    ("path-failover", {"log": "0 2097152 multipath 1 queue_if_no_path 0 1 1"}),
    ("path-failover", {"log": "mpatha: remaining active paths: 3"}),
    ("path-failover", {"log": "php-fpm: the pool www has failed"}),
    ("link-flap", {"log": "IPv6: ADDRCONF(NETDEV_CHANGE): veth4c1: link becomes ready"}),
    ("disk-error", {"log": 'I/O error on GET request for "http://orders:8080/open"'}),
    ("disk-error", {"log": "An I/O error occurred while sending to the backend."}),
    ("disk-error", {"log": "could not read file settings.json"}),
    ("disk-error", {"log": "cannot create a: Read-only file system"}),
    ("hardware-error", {"log": "the landing page was retired in May"}),
    ("kernel-stall", {"log": "JVMDUMP039I requesting System dump using core.dmp"}),
    ("kernel-stall", {"log": "Oops: we could not find this page"}),
    ("vm-paused", {"log": "hz.shop.migration: partition migration of 271 partitions done"}),
    ("instance-restart", {"log": "HikariPool-1 - Shutdown completed."}),
    ("connection-reset", {"log": "client 10.0.0.7 closed connection"}),
    ("service-timeout", {"log": "shim disconnected id=4711", "process": "containerd"}),
    ("crash-loop", {"log": "[pool www] child 12 exited on signal 15 (SIGTERM) after 60 seconds"}),
    ("paging", {"counter": "api"}),
    ("link-flap", {"log": "systemd-networkd[412]: veth4c1: Lost carrier"}),
    ("replication-lag", {"log": "the master asked slave 7 and had a timeout"}),
    ("service-timeout", {"log": "futex(0x7f3a, FUTEX_WAIT, 2) = -1 ETIMEDOUT"}),
    ("tracing-overhead", {"log": "perf: interrupt took too long (2512 > 2500), lowering the rate"}),
    ("name-cache-down", {"log": "sssd[204]: [watchdog_detect_timeshift] no shift of time"}),
    ("name-server-failure", {"log": "debug1: unknown host key type"}),
    ("rate-limited", {"log": "the zone file slipped behind", "process": "named"}),
    ("cluster-eviction", {"log": "notice: stonith is configured", "process": "pacemaker-fenced"}),
    ("hardware-error", {"code": "3997D500"}),
    ("handoff-wait", {"code": "ORA-3136"}),
    ("cluster-wait", {"port": 2380}),
    ("retry-loop", {"counter": "xact_rollback"}),
    ("resolver-timeout", {"counter": "UdpNoPorts"}),
    ("disk-error", {"counter": "num_err_log_entries"}),
    ("sort-spill", {"counter": "In-memory Sort %"}),
    ("lock-contention", {"parameter": "query_cache_size", "value": "1048576"}),
    ("fork-cost", {"call": "vfork"}),
    ("program-compute", {"symbol": "log"}),
    ("paging", {"stack": "async_page_fault"}),
    ("disk-latency", {"stack": "IO", "os": "hpux"}),
    ("file-lock-wait", {"path": "/srv/shop/yarn.lock"}),
    ("code-generation", {"path": "/srv/www/shop.js"}),
    ("proxy-wait", {"path": "/etc/varnish/default.vcl"}),
    ("security-agent", {"process": "cortex"}),
    ("disk-error", {"log": "197 Current_Pending_Sector 0x0012 100 100 000 Old_age Always - 0"}),
    ("disk-error", {"log": "Media Error Count: 0"}),
    ("frequency-throttled", {"log": "CPU3: Core temperature/speed normal"}),
    ("hardware-error", {"log": "pcie: Corrected error received"}),
    ("kernel-stall", {"log": "traps: app[4711] general protection fault ip:7f31a2c0 sp:7ffd error:0"}),
    ("cluster-eviction", {"log": "missed heartbeat from celery@worker2"}),
    ("directory-wait", {"log": "pam_sss(sshd:auth): authentication success; logname= uid=0 user=app"}),
    ("resolver-timeout", {"log": "lookup db1 on 10.0.0.7:53: server misbehaving"}),
    ("packet-loss", {"stack": "tcp_validate_incoming"}),
    ("packets-dropped", {"stack": "unix_stream_connect"}),
    ("socket-buffer-full", {"stack": "__sk_mem_raise_allocated"}),
    ("volume-rebuild", {"stack": "md_check_recovery"}),
    ("disk-error", {"stack": "blk_mq_timeout_work"}),
]
"""Names and texts that resemble those of a mechanism and have another reason."""


@pytest.mark.parametrize(
    ("mechanism", "seen"), UNLIKE, ids=lambda x: x if isinstance(x, str) else next(iter(x.values()))
)
def test_an_unlike_text_or_name_is_not_taken_for_a_mechanism(mechanism: str, seen: dict[str, Any]) -> None:
    assert mechanism not in {one.mechanism for one in recognise(**seen)}


@pytest.mark.parametrize("suffix", ["", ".isra.0", ".constprop.0", ".part.0.isra.3", ".cold"])
def test_what_a_compiler_appends_is_no_part_of_the_name(suffix: str) -> None:
    assert recognise(stack=f"jbd2_log_wait_commit{suffix}")[0].mechanism == "journal-wait"


def test_a_wrong_entry_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "stack").mkdir()
    (tmp_path / "stack" / "wrong.yaml").write_text(
        "- {match: {stack: x}, is: waits, source: here, example: x, mechanism: no-such}\n"
    )
    monkeypatch.setattr(lists, "FOLDER", tmp_path)
    with pytest.raises(RuleInvalid, match=r"stack/wrong.yaml: entry 1: mechanism: there is no no-such"):
        signatures("stack", "wrong")


def test_the_documentation_is_fresh() -> None:
    root = Path(lists.__file__).parents[2]
    again = "make it anew: python -m rules --signatures docs/signatures.md"
    assert (root / "docs" / "signatures.md").read_text(encoding="utf-8") == signature_docs.page(), again


def test_the_documentation_names_each_kind_of_name() -> None:
    assert {key for key, _ in areas()} <= set(signature_docs.TITLES)

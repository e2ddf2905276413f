from __future__ import annotations

from rules.case.case import Case

DB = {"host": "db1", "phase": "before"}


def found(**tables):
    return Case.of_tables(tables).derived("identities").to_dicts()


def attach(address, shmid, line, **more):
    return {**DB, "artifact_id": 1, "line_no": line, "name": "shmat", "arg_addr": address, "arg_id": shmid, **more}


def mapping(address, shmid, line, **more):
    return {**DB, "artifact_id": 2, "line_no": line, "pid": 7, "addr": address, "shmid": shmid, **more}


# One address, two ids:
#
#   trace   0x380000000 -> 16777280      0x3C0000000 -> 16777281
#   map     0x380000000 -> 16777246      0x3C0000000 -> 16777247 (rows at 0x3C0000000 and 0x610000000)
def test_one_base_address_with_two_segments():
    rows = found(
        syscalls=[attach(0x380000000, 16777280, 91), attach(0x3C0000000, 16777281, 107)],
        pmap=[
            mapping(0x380000000, 16777246, 116),
            mapping(0x3C0000000, 16777247, 119),
            mapping(0x610000000, 16777247, 120),
        ],
    )
    assert [(r["kind"], r["name"], r["id_a"], r["id_b"]) for r in rows] == [
        ("segment", "0x380000000", "16777280", "16777246"),
        ("segment", "0x3C0000000", "16777281", "16777247"),
    ]
    assert [(r["artifact_a"], r["line_a"], r["artifact_b"], r["line_b"]) for r in rows] == [
        (1, 91, 2, 116),
        (1, 107, 2, 119),
    ]


def test_the_same_segment_another_phase_and_an_unknown_host_say_nothing():
    assert found(syscalls=[attach(0x1000, 5, 1)], pmap=[mapping(0x1000, 5, 1)]) == []
    assert found(syscalls=[attach(0x1000, 5, 1)], pmap=[mapping(0x1000, 6, 1, phase="after-1")]) == []
    assert found(syscalls=[attach(0x1000, 5, 1, host=None)], pmap=[mapping(0x1000, 6, 1, host=None)]) == []


def test_one_map_of_several_that_agrees_is_enough():
    maps = [mapping(0x1000, 6, 1), mapping(0x1000, 5, 9, artifact_id=3)]
    assert found(syscalls=[attach(0x1000, 5, 1)], pmap=maps) == []


def listing(*ids, first_line=1, **more):
    return [{**DB, "artifact_id": 2, "line_no": first_line + k, "semid": i, **more} for k, i in enumerate(ids)]


def call(semid, line=1):
    return {**DB, "artifact_id": 1, "line_no": line, "name": "semctl", "arg_id": semid}


def test_a_set_that_no_listing_of_the_moment_holds():
    (row,) = found(syscalls=[call(1347842, 132), call(1347842, 133)], ipcs_sem=listing(10, 20))
    assert (row["kind"], row["id_a"], row["cut"], row["n"], row["line_a"]) == ("semaphore", "1347842", False, 2, 132)


def test_a_listing_with_lines_left_out_proves_no_absence():
    (row,) = found(
        syscalls=[call(1347842)],
        ipcs_sem=listing(10, 20),
        notes=[{**DB, "artifact_id": 2, "line_no": 9, "kind": "elided"}],
    )
    assert row["cut"] is True


def test_a_listed_set_and_a_moment_without_a_listing_say_nothing():
    assert found(syscalls=[call(10)], ipcs_sem=listing(10, 20)) == []
    assert found(syscalls=[call(11)], ipcs_sem=listing(10, 20, phase="after-1")) == []
    assert found(syscalls=[call(11)]) == []


#   12941057  12973826  12006595          13137665 13170434 13203203
#        +32769    -967231 (13006595?)         +32769   +32769
def test_an_id_that_breaks_the_steps_by_one_digit():
    (row,) = found(ipcs_sem=listing(12941057, 12973826, 12006595))
    assert (row["kind"], row["id_a"], row["id_b"], row["line_b"]) == ("listing", "13006595", "12006595", 3)


def test_even_steps_other_jumps_and_short_listings_say_nothing():
    assert found(ipcs_sem=listing(13137665, 13170434, 13203203)) == []
    assert found(ipcs_sem=listing(12941057, 12973826, 19999999)) == []
    assert found(ipcs_sem=listing(7, 9)) == []
    assert found(ipcs_sem=listing(100, 101, 102, 203)) == []


def test_a_background_process_under_two_pids():
    (row,) = found(
        ps=[{**DB, "artifact_id": 1, "line_no": 5, "pid": 100, "args": "ora_smon_QPROD"}],
        pmap=[{**DB, "artifact_id": 2, "line_no": 1, "pid": 2767, "command": "ora_smon_QPROD"}],
    )
    assert (row["kind"], row["name"], row["id_a"], row["id_b"]) == ("program", "ora_smon_QPROD", "100", "2767")


def test_one_pid_in_both_and_ordinary_programs_say_nothing():
    both = {
        "ps": [{**DB, "artifact_id": 1, "line_no": 5, "pid": 2767, "args": "ora_smon_QPROD"}],
        "pmap": [{**DB, "artifact_id": 2, "line_no": 1, "pid": 2767, "command": "ora_smon_QPROD"}],
    }
    assert found(**both) == []
    shells = [{**DB, "artifact_id": a, "line_no": 5, "pid": a, "args": "bash -l"} for a in (1, 2)]
    assert found(ps=shells) == []

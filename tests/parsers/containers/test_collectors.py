"""Test that host, day and zone are read from the trees of collecting tools."""

from __future__ import annotations

import pytest

from parsers.containers.collectors import Tree, collector_of, names_a_zone


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "sosreport-db-1-02345678-2021-11-20-abcdefg/sos_commands/memory/free_-m",
            {"collector": "sosreport", "host": "db-1", "os": "linux", "date": "2021-11-20", "command": "free -m"},
        ),
        (
            "sosreport-db1.123-20150309141530/proc/meminfo",
            {
                "collector": "sosreport",
                "host": "db1",
                "os": "linux",
                "date": "2015-03-09",
                "command": "cat /proc/meminfo",
            },
        ),
        (
            "osw/archive/oswiostat/DB1_iostat_13.12.02.1100.dat",
            {"collector": "OSWatcher", "host": "db1", "date": "2013-12-02"},
        ),
        (
            "ExaWatcher/Vmstat.ExaWatcher/2019_04_12_18_16_31_VmstatExaWatcher_cel01.example.org.dat",
            {"collector": "ExaWatcher", "host": "cel01.example.org", "os": "linux", "date": "2019-04-12"},
        ),
        (
            "explorer.84f1c2a0.sun1-2008.11.07.10.15/sysinfo/uname-a.out",
            {"collector": "explorer", "host": "sun1", "os": "solaris", "date": "2008-11-07", "command": "uname -a"},
        ),
        (
            "rac2.tfa_srdc_dbperf_Fri_Nov_6_10_15_00_CET_2020.zip!rac2/alert_X.log",
            {"collector": "AHF", "host": "rac2", "date": "2020-11-06"},
        ),
        (
            "scc_sles-3_240305_1015/memory.txt",
            {"collector": "supportconfig", "host": "sles-3", "os": "linux", "date": "2024-03-05"},
        ),
        ("./general/general.snap", {"collector": "snap", "os": "aix"}),
        ("week/lpar7_240305_0000.nmon", {"collector": "nmon", "host": "lpar7", "date": "2024-03-05"}),
        ("cluster-state/shop/events.json", {"collector": "kubectl cluster-info dump"}),
        ("cluster-state/shop/orders-7d9/logs.txt", {"host": "orders-7d9"}),
        ("logs/vmstat.txt", {}),
        ("oswbb/README.txt", {}),
    ],
)
def test_a_path_says_host_and_day(path, told):
    assert Tree().facts_of(path).as_json() == told


def test_a_zone_is_learnt_from_files_and_links_and_holds_for_its_tree():
    tree = Tree()
    tree.learn(
        "sosreport-a-2021-11-20-abcdefg/sos_commands/systemd/timedatectl", "  Time zone: Europe/Warsaw (CET, +0100)\n"
    )
    tree.learn_link("sosreport-b-2021-11-20-abcdefg/etc/localtime", "../usr/share/zoneinfo/Asia/Tokyo")
    tree.learn("explorer.84f1c2a0.c-2008.11.07.10.15/etc/TIMEZONE", "# x\nTZ=US/Eastern\nCMASK=022\n")
    tree.learn("d/etc/timezone", "Nowhere/Land\n")
    assert tree.facts_of("sosreport-a-2021-11-20-abcdefg/proc/meminfo").tz == "Europe/Warsaw"
    assert tree.facts_of("sosreport-b-2021-11-20-abcdefg/proc/meminfo").tz == "Asia/Tokyo"
    assert tree.facts_of("explorer.84f1c2a0.c-2008.11.07.10.15/x").tz == "US/Eastern"
    assert tree.facts_of("d/x").tz is None


def test_an_archive_may_be_the_only_one_that_names_the_host():
    tree = Tree("rac2.tfa_srdc_dbperf_Tue_Mar_5_10_15_00_CET_2024.zip")
    tree.learn("etc/timezone", "Asia/Tokyo\n")
    assert tree.facts_of("rac2/alert_X.log").as_json() == {
        "collector": "AHF",
        "host": "rac2",
        "date": "2024-03-05",
        "tz": "Asia/Tokyo",
    }


def test_the_collector_is_the_one_most_paths_speak_for():
    assert collector_of(["oswvmstat/h_vmstat_13.12.02.1100.dat", "readme"]) == "OSWatcher"
    assert collector_of(["vmstat.txt"]) is None
    assert names_a_zone("x/etc/timezone")
    assert not names_a_zone("x/etc/passwd")

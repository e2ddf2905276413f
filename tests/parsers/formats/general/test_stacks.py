"""Stacks of every runtime, as people paste them: whole, cut, and without heads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parsers.formats.evidence import read_bytes


def stacks(text: str) -> list[dict[str, Any]]:
    reading = read_bytes(text.encode())
    assert reading.account.account.lines == reading.account.lines
    found = reading.tables.get("profile_stacks")
    return found.to_dicts() if found is not None else []


JAVA = """\
"exec-1" #31 daemon prio=5 os_prio=0 cpu=120.11ms elapsed=900.10s tid=0x7f nid=0x1a31 waiting for monitor entry  [0x0c]
   java.lang.Thread.State: BLOCKED (on object monitor)
\tat com.shop.Log.write(Log.java:20)
\t- waiting to lock <0x000000062b5d0f28> (a com.shop.Log)
\tat com.shop.Cart.add(Cart.java:10)
\t- locked <0x000000062b5d0aaa> (a com.shop.Cart)

   Locked ownable synchronizers:
\t- <0x00000005c2e61000> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"exec-2" #32 prio=5 os_prio=0 tid=0x7f nid=6706 in Object.wait() [0x0c]
   java.lang.Thread.State: WAITING (on object monitor)
\tat java.lang.Object.wait(java.base@17.0.9/Native Method)
\t- waiting on <0x000000062b5d0f28> (a com.shop.Log)
\tat com.shop.Log.next(Log.java:30)
\t- locked <0x000000062b5d0f28> (a com.shop.Log)
"""


def test_a_thread_of_java_has_state_times_locks_and_a_line_for_each_frame():
    one, two = stacks(JAVA)
    assert (one["comm"], one["lwp"], one["state"]) == ("exec-1", 0x1A31, "BLOCKED (on object monitor)")
    assert (one["cpu_s"], one["age_s"]) == (pytest.approx(0.12011), pytest.approx(900.1))
    assert list(zip(one["frames"], one["frame_lines"], strict=True)) == [
        ("com.shop.Log.write", 3),
        ("com.shop.Cart.add", 5),
    ]
    assert one["waits_for"] == "0x000000062b5d0f28"
    assert one["holds"] == ["0x000000062b5d0aaa", "0x00000005c2e61000"]
    assert (two["lwp"], two["holds"], two["waits_for"]) == (
        6706,
        None,
        None,
    )  # a thread that waits to be notified has released its lock


def test_who_waits_for_whom_in_a_reported_deadlock():
    text = (
        'Found one Java-level deadlock:\n=====\n"A":\n  waiting to lock monitor 0x7f (object 0xd8, a java.lang.Object),\n'
        '  which is held by "B"\n"B":\n  waiting for ownable synchronizer 0xd9, (a java.util.concurrent.locks.X),\n'
        '  which is held by "A"\n'
    )
    assert [(r["comm"], r["waits_for"], r["held_by"], r["frames"]) for r in stacks(text)] == [
        ("A", "0xd8", "B", []),
        ("B", "0xd9", "A", []),
    ]
    logs = read_bytes(text.encode()).tables["logs"]
    assert logs["text"].to_list() == ["Found one Java-level deadlock:"]


@pytest.mark.parametrize(
    ("text", "frames", "more"),
    [
        (
            "goroutine 7 [semacquire, 906 minutes]:\nsync.(*Mutex).Lock(0xc0000b4010)\n\t/go/mutex.go:81\nmain.(*S).Get(...)\n"
            "\t/src/s.go:3 +0x4\ncreated by main.main in goroutine 1\n\t/src/m.go:9 +0x1\n",
            ["sync.(*Mutex).Lock", "main.(*S).Get"],
            {"comm": "goroutine 7", "state": "semacquire, 906 minutes", "waited_s": 54360.0, "waits_for": "0xc0000b4010"},
        ),
        (
            "goroutine profile: total 400\n400 @ 0x43a8b6 0x40624e\n#\t0x7a3b44\tmain.(*Hub).send+0x44\t/src/hub.go:33\n",
            ["main.(*Hub).send"],
            {"weight": 400.0},
        ),
        (
            '"p-2" Id=23 BLOCKED on java.lang.Object@4b12 owned by "p-1" Id=22\n\tat com.shop.Stock.take(Stock.java:31)\n'
            "\t-  blocked on java.lang.Object@4b12\n",
            ["com.shop.Stock.take"],
            {"lwp": 23, "state": "BLOCKED", "waits_for": "java.lang.Object@4b12", "held_by": "p-1"},
        ),
        (
            '3XMTHREADINFO      "Web : 1" J9VMThread:0x01, omrthread_t:0x7F, java/lang/Thread:0xE0, state:B, prio=5\n'
            "3XMTHREADINFO1            (native thread ID:0x1A2B, native priority:0x5)\n"
            "3XMCPUTIME               CPU usage total: 0.48 secs\n"
            '3XMTHREADBLOCK     Blocked on: java/lang/Object@0xE0 Owned by: "Web : 0" (J9VMThread:0x02)\n'
            "4XESTACKTRACE                at com/shop/Stock.take(Stock.java:31)\n",
            ["com.shop.Stock.take"],
            {"lwp": 0x1A2B, "state": "B", "cpu_s": 0.48, "waits_for": "java/lang/Object@0xE0", "held_by": "Web : 0"},
        ),
        (
            '#22 "" virtual\n      java.base/java.lang.VirtualThread.park(VirtualThread.java:582)\n      com.shop.A.b(A.java:3)\n',
            ["java.base/java.lang.VirtualThread.park", "com.shop.A.b"],
            {"comm": None},
        ),
        (
            "It hangs, this is where:\n\n    at java.net.SocketInputStream.socketRead0(Native Method)\n    at com.shop.Dao.find(Dao.java:7)\n",
            ["java.net.SocketInputStream.socketRead0", "com.shop.Dao.find"],
            {"complete": False},
        ),
        (
            'Thread 4711 (idle): "MainThread"\n    wait (threading.py:320)\n    load (app/loader.py:88)\n',
            ["wait (threading.py)", "load (loader.py)"],
            {"lwp": 4711, "state": "idle", "comm": "MainThread"},
        ),
        (
            '^CTraceback (most recent call last):\n  File "/app/main.py", line 11, in <module>\n    main()\n'
            '  File "/usr/lib/ssl.py", line 9, in read\n    return x\nKeyboardInterrupt\n',
            ["read (ssl.py)", "<module> (main.py)"],
            {"frame_lines": [4, 2]},
        ),
        (
            "* thread #1, queue = 'com.apple.main-thread'\n  * frame #0: 0x7fff libsystem_kernel.dylib`__psynch_mutexwait + 10\n"
            "    frame #1: 0x0001 app`get(s=0x6) at store.c:42:5\n",
            ["libsystem_kernel.dylib`__psynch_mutexwait", "app`get"],
            {"lwp": 1},
        ),
        (
            'PID: 4711   TASK: ffff880424b74040  CPU: 3   COMMAND: "java"\n #0 [ffff880423b11c48] schedule at ffffffff8150d7a2\n'
            " #1 [ffff880423b11d10] down_read at ffffffff8150f6b6\n",
            ["schedule", "down_read"],
            {"pid": 4711, "comm": "java", "kernel": True},
        ),
        (
            "> ::stack\nlibc.so.1`__lwp_park+0x14(0, 0)\nlibc.so.1`mutex_lock_impl+0x1a0(8061234, 0)\nmain+0x99(1, 8047d20)\n",
            ["libc.so.1`__lwp_park", "libc.so.1`mutex_lock_impl", "main"],
            {"kernel": False},
        ),
        (
            "Thread (0x7B24):\n  [Native Frames]\n  System.Private.CoreLib.il!System.Threading.Monitor.Wait(class System.Object,int32)\n",
            ["System.Threading.Monitor.Wait"],
            {"lwp": 0x7B24},
        ),
        (
            "OS Thread Id: 0x2f34 (0)\n        Child SP               IP Call Site\n"
            "000000C1F2D7E530 00007ffad4b1a2c1 Shop.Stock.Reserve(Int32)\n",
            ["Shop.Stock.Reserve"],
            {"lwp": 0x2F34},
        ),
        (
            " # Child-SP          RetAddr               Call Site\n"
            "00 00000046`7b2ff4a8 00007ff9`b1a3a8d3     ntdll!NtWaitForSingleObject+0x14\n",
            ["ntdll!NtWaitForSingleObject"],
            {"lwp": None},
        ),
        (
            "[21-Nov-2019 10:00:00]  [pool www] pid 11877\nscript_filename = /var/www/index.php\n"
            "[0x00007f1c2b0141f0] curl_exec() /var/www/http.php:12\n",
            ["curl_exec"],
            {"pid": 11877, "comm": "www"},
        ),
        (
            " 1234 100123 nfsd                nfsd: master        mi_switch+0xe1 sleepq_wait+0x2c _sleep+0x1f0\n",
            ["mi_switch+0xe1", "sleepq_wait+0x2c", "_sleep+0x1f0"],
            {"pid": 1234, "lwp": 100123, "comm": "nfsd", "frame_lines": [1, 1, 1], "kernel": True},
        ),
        (
            "INFO: task cp:7 blocked for more than 120 seconds.\n      Not tainted 5.10\nCall Trace:\n __schedule+0x2/0x8\n"
            " jbd2_log_wait_commit+0x1/0x2 [jbd2]\n",
            ["__schedule", "jbd2_log_wait_commit"],
            {"comm": "cp", "pid": 7, "state": "D", "waited_s": 120.0, "kernel": True},
        ),
        (
            '"p-2" - Thread t@23\n   java.lang.Thread.State: BLOCKED\n\tat com.shop.Stock.take(Stock.java:31)\n'
            '\t- waiting to lock <1f05a9> (a com.shop.Stock) owned by "p-1" t@22\n',
            ["com.shop.Stock.take"],
            {"lwp": 23, "comm": "p-2", "state": "BLOCKED", "waits_for": "1f05a9", "held_by": "p-1"},
        ),
        (
            "Thread 4711: (state = BLOCKED)\n - sun.misc.Unsafe.park(boolean, long) @bci=0 (Compiled frame; information may be imprecise)\n"
            " - com.shop.Stock.take(int, java.lang.String) @bci=7, line=31 (Interpreted frame)\n",
            ["sun.misc.Unsafe.park", "com.shop.Stock.take"],
            {"lwp": 4711, "state": None, "frame_lines": [2, 3]},  # this JVM prints "blocked" for any wait
        ),
        (
            "---------           Thread 7592 hangs            ----------\n"
            '\tFile "C:\\app\\main.py", line 11, in run\n\t\twith lock:\n\tFile "C:\\app\\shared.py", line 4, in __enter__\n\t\tself.acquire()\n',
            ["__enter__ (shared.py)", "run (main.py)"],
            {"lwp": 7592, "state": "hangs", "frame_lines": [4, 2]},
        ),
        (
            "(dlv) bt\n 0  0x000000000042f1e8 in runtime.gopark\n    at /go/src/runtime/proc.go:292\n"
            " 1  0x0000000000406bcd in main.(*Hub).send\n    at ./hub.go:33\n",
            ["runtime.gopark", "main.(*Hub).send"],
            {"lwp": None, "frame_lines": [2, 4]},
        ),
    ],
    ids=lambda x: x.split("\n", 1)[0][:20] if isinstance(x, str) else None,
)  # fmt: skip
def test_styles(text: str, frames: list[str], more: dict[str, Any]):
    (row,) = stacks(text)
    assert row["frames"] == frames
    assert {name: row[name] for name in more} == more


@pytest.mark.parametrize(
    "text",
    [
        "java.net.SocketTimeoutException: Read timed out\n    at java.net.SocketInputStream.socketRead0(Native Method)\n",
        'Traceback (most recent call last):\n  File "/app/main.py", line 11, in <module>\n    main()\nValueError: x\n',
        '"key":\n  some: text\n',
    ],
)
def test_where_an_exception_came_from_is_no_place_to_stand(text: str):
    assert stacks(text) == []


@pytest.mark.parametrize(
    "line", ['"a" nid=' + "x " * 150, "#0 " + "(" * 300, "    at " + "a." * 190, "goroutine 1 [" + "]" * 300]
)
def test_long_lines_take_no_time(line: str):
    assert stacks(f"{line}\n" * 200) is not None


EXPLORED = """\
ntoskrnl.exe!KiSwapContext+0x76
FLTMGR.SYS!FltSendMessage+0x2f0
guard9.sys+0x4c10
ntoskrnl.exe!KeFlushCaches+0x2b1c4
bake.exe!Oven::open+0x1f
"""
KB = """\
ChildEBP RetAddr  Args to Child
0012f9a0 7c90df3c 000000e8 00000000 00000000 ntdll!NtWaitForSingleObject+0xc
0012fa28 7c901046 005c1180 00000000 bake!Oven::open+0x91
"""


def test_frames_of_process_explorer_name_modules_where_no_symbol_is_near():
    (made,) = stacks(EXPLORED)
    assert made["frames"] == [
        "ntoskrnl.exe!KiSwapContext", "FLTMGR.SYS!FltSendMessage", "guard9.sys", "ntoskrnl.exe", "bake.exe!Oven::open",
    ]  # fmt: skip


def test_a_stack_of_32_bits_with_its_arguments():
    (made,) = stacks(KB)
    assert made["frames"] == ["ntdll!NtWaitForSingleObject", "bake!Oven::open"]


SPUN = """\
  Thread 0x4b1    DispatchQueue 9    500 samples (1-500) priority 31
  500  start_wqthread + 13 (libsystem_pthread.dylib + 5085) [0x7fff8cefb3dd]
    500  Oven.open() + 21 (Bakery + 8496) [0x10be51130]
     *500  semaphore_wait_continue + 0 (kernel + 1353536) [0xffffff800034a740]
"""


def test_a_tree_of_spindump_is_cut_below_each_thread():
    (made,) = stacks(SPUN + SPUN.replace("Oven.open() + 21 (Bakery", "??? (Bakery").replace("0x4b1", "0x4b2"))[:1]
    assert (made["frames"], made["weight"]) == (["semaphore_wait_continue", "Oven.open()", "start_wqthread"], 500.0)


HOT = """\
::: {es-1}{aB3}{198.51.100.5}{198.51.100.5:9300}
   Hot threads at 2031-03-01T10:00:00.000Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

   97.5% [cpu=97.5%, other=0.0%] (487.5ms out of 500ms) cpu usage by thread 'elasticsearch[es-1][search][T#7]'
     8/10 snapshots sharing following 3 elements
       app//org.apache.lucene.util.automaton.Operations.determinize(Operations.java:714)
       java.base@17.0.2/java.util.concurrent.ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:635)
       java.base@17.0.2/java.lang.Thread.run(Thread.java:833)
     2/10 snapshots sharing following 1 elements
       app//org.example.Other.run(Other.java:1)

   1.2% (6ms out of 500ms) cpu usage by thread 'elasticsearch[es-1][http_server_worker][T#1]'
     10/10 snapshots sharing following 1 elements
       sun.nio.ch.EPollArrayWrapper.epollWait(Native Method)
"""


def test_hot_threads_are_a_profile_by_their_share_of_a_processor():
    rows = read_bytes(HOT.encode()).table("profile_stacks")
    assert rows["weight"].to_list() == [97.5, 1.2]
    assert rows["event"].to_list() == ["hot threads"] * 2
    assert rows["comm"][0] == "elasticsearch[es-1][search][T#7]"
    assert rows["frames"][0].to_list() == [
        "org.apache.lucene.util.automaton.Operations.determinize",
        "java.util.concurrent.ThreadPoolExecutor$Worker.run",
        "java.lang.Thread.run",
    ]
    assert (rows["line_no"].to_list(), rows["line_end"].to_list()) == ([4, 12], [10, 14])


WINDBG_ALL = """   0  Id: 1a8c.2f04 Suspend: 1 Teb: 000000e4`5a1c1000 Unfrozen
RetAddr           : Args to Child                                                           : Call Site
00007ffb`3c1e8ba3 : 00000000`00000000 00000000`00000000 00000000`00000000 00000000`00000000 : ntdll!NtWaitForSingleObject+0x14
00007ff6`1c8a2114 : 00000000`00000000 00000000`00000000 00000000`00000000 00000000`00000000 : till!Worker::Join+0x24

   1  Id: 1a8c.3a10 Suspend: 1 Teb: 000000e4`5a1c3000 Unfrozen
Child-SP          RetAddr           Call Site
00000077`331fd6f8 00007ffa`77be7619 ntdll!ZwWaitForAlertByThreadId+0x14
00000077`331fd8e0 00007ffa`522c23e4 ntdll!RtlEnterCriticalSection+0x40
"""
WINDOWS_KERNEL = """THREAD ffffe000018d68c0  Cid 0a50.0a54  Teb: 00007ff6b661d000 Win32Thread: 0000000000000000 WAIT: (Executive) KernelMode Non-Alertable
    ffffe000046192c0  SynchronizationEvent
Not impersonating
nt!KiSwapContext+0x76
nt!ExpWaitForResource+0x9a
"""


def test_all_stacks_of_windbg_have_their_threads() -> None:
    """64-bit addresses of WinDbg have a backtick inside: they are no modules of DTrace."""
    made = read_bytes(WINDBG_ALL.encode()).tables["profile_stacks"].to_dicts()
    assert [(row["lwp"], row["comm"], row["frames"][-1]) for row in made] == [
        (0x2F04, "0", "till!Worker::Join"),
        (0x3A10, "1", "ntdll!RtlEnterCriticalSection"),
    ]


def test_a_thread_of_windows_kernel_debugger() -> None:
    (row,) = read_bytes(WINDOWS_KERNEL.encode()).tables["profile_stacks"].to_dicts()
    assert (row["lwp"], row["state"], row["frames"]) == (
        0x0A54,
        "WAIT: (Executive)",
        ["nt!KiSwapContext", "nt!ExpWaitForResource"],
    )


RUBY_LOG = """2024-04-02T17:46:36.602Z pid=84584 tid=ovh2dh8hg WARN: Thread TID-q7 processor
2024-04-02T17:46:36.603Z pid=84584 tid=ovh2dh8hg WARN: /srv/till/gems/pool-2.3.0/lib/pool/timed_stack.rb:79:in `wait'
/srv/till/app/models/stock.rb:12:in `block in count'
2024-04-02T17:46:36.604Z pid=84584 tid=ovh2dh8hg INFO: done
"""


def test_a_thread_of_ruby_in_a_log_is_a_stack() -> None:
    """The head and the first frame begin as lines of the log; the file is part of the name, for `wait` is also one of C."""
    read = read_bytes(RUBY_LOG.encode()).tables
    (row,) = read["profile_stacks"].to_dicts()
    assert (row["comm"], row["frames"]) == ("q7 processor", ["wait (timed_stack.rb)", "block in count (stock.rb)"])
    assert [r["text"] for r in read["logs"].to_dicts()] == ["pid=84584 tid=ovh2dh8hg INFO: done"]


def test_a_stack_of_the_slow_log_of_php_is_of_a_slow_request() -> None:
    text = "[14-Mar-2023 09:12:44]  [pool till] pid 20311\nscript_filename = /srv/till/i.php\n[0x00007f3c1a813590] usleep() /srv/till/i.php:2\n"
    (row,) = read_bytes(text.encode()).tables["profile_stacks"].to_dicts()
    assert (row["comm"], row["state"], row["frames"]) == ("till", "slow request", ["usleep"])

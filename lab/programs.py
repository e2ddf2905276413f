"""Incidents inside programs: waiting for another's pipe, sleeping on purpose, collecting garbage."""

from __future__ import annotations

from lab.incident import Incident
from lab.scene import Scene, needs


def pipe_wait(stage: Scene) -> None:
    program = stage.script(
        "pipes.py",
        """
        import os, sys, time
        r, w = os.pipe()
        if os.fork() == 0:
            time.sleep(float(sys.argv[1])); os.write(w, b"result 4711"); os._exit(0)
        os.read(r, 64); os.wait()
    """,
    )
    stage.traced("strace.txt", [*program, "1.5" if stage.bad else "0"])


def poll_interval(stage: Scene) -> None:
    program = stage.script(
        "polls.py",
        """
        import os, sys, time
        began = time.monotonic()
        while time.monotonic() - began < 0.3 + float(sys.argv[1]) * 2:
            try:
                os.stat("/nonexistent/result")
            except OSError:
                pass
            time.sleep(float(sys.argv[1]) or 0.01)
            if not float(sys.argv[1]):
                break
    """,
    )
    stage.traced("strace.txt", [*program, "1.0" if stage.bad else "0"])


def garbage(stage: Scene) -> None:
    needs("java", "javac")
    source = stage.work / "Pauses.java"
    source.write_text(
        """
import java.util.*;
public class Pauses {
    public static void main(String[] a) throws Exception {
        List<byte[][]> live = new ArrayList<>();
        int keep = Integer.parseInt(a[0]);
        long end = System.nanoTime() + 4_000_000_000L;
        Random r = new Random(1);
        while (System.nanoTime() < end) {
            byte[][] some = new byte[2000][];
            for (int i = 0; i < some.length; i++) some[i] = new byte[200];
            live.add(some);
            if (live.size() > keep) live.remove(r.nextInt(live.size()));
        }
    }
}
""",
        encoding="utf-8",
    )
    stage.start(["javac", "-d", str(stage.work), str(source)]).wait(timeout=50)
    heap = ("-Xmx160m", "-XX:+UseSerialGC", "-Xlog:gc*,safepoint") if stage.bad else ("-Xmx1g", "-XX:+UseSerialGC")
    stage.traced(
        "strace.txt",
        ["java", *heap[:2], "-cp", str(stage.work), "Pauses", "260" if stage.bad else "5"],
        ["-e", "trace=futex,write,clone3,exit_group,execve,read"],
    )


INCIDENTS = (
    Incident("pipe-wait", "A program waits 1.5 s for another one's answer on a pipe.", pipe_wait,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"HOT-001": {}}},
             {"symptom": {"text": "the report", "unit": "s", "bad": 1.6, "normal": 0.1}}, {}),
    Incident("poll-interval", "A program looks once a second whether its result is there.", poll_interval,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"HOT-001": {}}},
             {"symptom": {"text": "the result", "unit": "s", "bad": 3.0, "normal": 0.3}}, {}),
    Incident("garbage-collection", "A Java program whose live data almost fill its heap.", garbage,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {}},
             {"symptom": {"text": "requests stall for parts of a second"}}, {}),
)  # fmt: skip

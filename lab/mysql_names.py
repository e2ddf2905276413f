"""Incident of a MariaDB that looks up the name of each caller at login, with a name server that answers such questions
late.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from lab.incident import Incident
from lab.scene import Missing, Scene, needs

NAMES = """
    import socket, sys, threading, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.53", 53))
    def answer(q, who):
        time.sleep(float(sys.argv[1]))
        end = q.index(b"\\0", 12) + 5
        s.sendto(q[:2] + b"\\x81\\x83\\0\\1\\0\\0\\0\\0\\0\\0" + q[12:end], who)
    while True:
        threading.Thread(target=answer, args=s.recvfrom(512), daemon=True).start()
"""

CALLER = """
    import socket, struct, sys
    c = socket.create_connection(("127.0.0.3", 3307), source_address=("127.0.0." + sys.argv[1], 0))
    c.recv(4096)
    said = struct.pack("<IIB23x", 0x88200, 1 << 24, 33) + b"app\\0\\0mysql_native_password\\0"
    c.sendall(struct.pack("<I", len(said))[:3] + b"\\x01" + said); c.recv(4096)
    asked = b"\\x03select sleep(1)"
    c.sendall(struct.pack("<I", len(asked))[:3] + b"\\0" + asked); c.recv(4096)
    c.sendall(b"\\1\\0\\0\\0\\1")
"""


def names_at_login(stage: Scene) -> None:
    """Connect from ten addresses, none of which is in the server's host cache."""
    needs("unshare", "setpriv", "mariadbd", "mariadb", "mariadb-install-db")
    stage.work.chmod(0o777)
    data, own = stage.work / "data", ["setpriv", "--reuid", "mysql", "--regid", "mysql", "--init-groups"]
    made = [
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={data}",
        "--user=mysql",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    subprocess.run(made, check=True, capture_output=True, timeout=60)
    stage.start([*stage.script("names.py", NAMES), "2.0" if stage.bad else "0"])
    (stage.work / "resolv.conf").write_text("nameserver 127.0.0.53\n", encoding="ascii")
    (stage.work / "nsswitch.conf").write_text("hosts: files dns\npasswd: files\ngroup: files\n", encoding="ascii")
    mounts = " && ".join(f"mount --bind {stage.work}/{name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
    log, door = stage.work / "error.log", stage.work / "door.sock"
    server = (
        f"exec {' '.join(own)} mariadbd --no-defaults --datadir={data} --socket={door} --port=3307 --bind-address=0.0.0.0"
        f" --pid-file={stage.work}/pid --log-error={log} --log-warnings=2 --skip-log-bin"
    )
    stage.start(["unshare", "-m", "sh", "-c", f"{mounts} && {server}"], cwd=stage.work)
    client = ["mariadb", "--no-defaults", f"--socket={door}", "-u", "root"]
    for _ in range(100):
        if subprocess.run([*client, "-e", "select 1"], check=False, capture_output=True, timeout=20).returncode == 0:
            break
        time.sleep(0.2)
    else:
        raise Missing("MariaDB does not answer")
    subprocess.run([*client, "-e", "create user app@'%'"], check=True, capture_output=True, timeout=20)
    caller = stage.script("caller.py", CALLER)
    for n in range(10):
        stage.start([*caller, str(20 + n)])
    time.sleep(1.2)
    stage.print("processlist.txt", [*client, "-t", "-e", "show full processlist"])
    time.sleep(4.0)
    stage.keep("mysql-log.txt", str(Path(log)))


INCIDENTS = (
    Incident("names-at-login", "MariaDB looks up the name of each caller at login; the name server takes 2 s for it.", names_at_login,
             {"layer": "name_service", "hypothesis": "H-NSS", "rules": {"NSS-006": {}}, "also": ["configuration"]},
             {"symptom": {"text": "a login", "unit": "s", "bad": 2.1, "normal": 0.05}}, {"symptom": {"text": "logins are slow"}}),
)  # fmt: skip

"""Incident of a Java server whose pool of connections runs dry, because one kind of request does not give them back."""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import Scene, needs

DATABASE = """
    import socket, threading
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 15432)); s.listen(64)
    def serve(c):
        while q := c.recv(4096):
            c.sendall(q)
    while True:
        c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
"""

SHOP = """
import java.io.*;
import java.net.Socket;
import java.util.concurrent.*;

class ConnectionPool {
    private final BlockingQueue<Socket> idle = new LinkedBlockingQueue<>();
    ConnectionPool(int size) throws IOException {
        for (int i = 0; i < size; i++) idle.add(new Socket("127.0.0.1", 15432));
    }
    Socket borrow() throws InterruptedException { return idle.take(); }
    void giveBack(Socket s) { idle.add(s); }
}

class OrderService {
    private final ConnectionPool pool;
    private final boolean careless;
    OrderService(ConnectionPool pool, boolean careless) { this.pool = pool; this.careless = careless; }
    void handle(int n) throws Exception {
        Socket c = pool.borrow();
        c.getOutputStream().write(("order " + n + "\\n").getBytes());
        c.getInputStream().read(new byte[256]);
        if (careless && n % 5 == 0) return;
        pool.giveBack(c);
    }
}

public class Shop {
    public static void main(String[] a) throws Exception {
        OrderService orders = new OrderService(new ConnectionPool(5), a[0].equals("careless"));
        ExecutorService workers = Executors.newFixedThreadPool(8, new ThreadFactory() {
            private int n = 0;
            public Thread newThread(Runnable r) { return new Thread(r, "http-exec-" + ++n); }
        });
        for (int i = 1; ; i++) {
            final int n = i;
            workers.submit(() -> { try { orders.handle(n); } catch (Exception e) { } });
            Thread.sleep(50);
        }
    }
}
"""


def pool_dry(stage: Scene) -> None:
    needs("java", "javac", "jstack", "ss")
    (stage.work / "Shop.java").write_text(SHOP, encoding="utf-8")
    stage.start(["javac", "-d", str(stage.work), str(stage.work / "Shop.java")]).wait(timeout=50)
    stage.start(stage.script("database.py", DATABASE))
    time.sleep(0.5)
    heap = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    shop = stage.start(["java", *heap, "-cp", str(stage.work), "Shop", "careless" if stage.bad else "careful"])
    time.sleep(8.0)
    for n in (1, 2):
        with (stage.out / f"jstack-{n}.txt").open("wb") as into:
            subprocess.run(["jstack", str(shop.pid)], stdout=into, stderr=subprocess.DEVNULL, check=True, timeout=20)
        time.sleep(5.0)
    stage.print("ss.txt", ["ss", "-tnp", "dport", "=", ":15432"])
    stage.print("ps.txt", ["ps", "-o", "pid,etime,time,nlwp,pcpu,stat,wchan:20,comm", "-p", str(shop.pid)])


INCIDENTS = (
    Incident("pool-dry", "A Java server's requests do not all give their connection back, until none is left in its pool.", pool_dry,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "mechanism": "pool-exhausted"},
             {"symptom": {"text": "the shop answers nobody any more"}}, {"symptom": {"text": "the shop answers nobody any more"}}),
)  # fmt: skip

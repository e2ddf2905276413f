"""Incidents in front of a server: a proxy that lets two requests through at a time, and a certificate that has expired."""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import Scene, needs, plain

ORDERS = """
    import http.server, time
    class Orders(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_GET(self):
            time.sleep(0.15)
            body = b"stored\\n"
            self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
            self.wfile.write(body)
        def log_message(self, *_):
            pass
    http.server.ThreadingHTTPServer(("127.0.0.1", 18081), Orders).serve_forever()
"""

SHOPS = """
    import http.client, threading, time
    def shop(n):
        for i in range(6):
            c = http.client.HTTPConnection("127.0.0.1", 18080, timeout=30)
            c.request("GET", f"/orders/{n}"); c.getresponse().read(); c.close()
    threads = [threading.Thread(target=shop, args=(n,)) for n in range(10)]
    [t.start() for t in threads]; [t.join() for t in threads]
"""

PROXY = """
global
    log stdout format raw local0
    maxconn 200
defaults
    mode http
    log global
    option httplog
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    timeout queue 30s
frontend shop
    bind 127.0.0.1:18080
    stats enable
    stats uri /stats
    default_backend orders
backend orders
    server app1 127.0.0.1:18081 maxconn {most}
"""

TIMES = (
    "namelookup %{time_namelookup} connect %{time_connect} starttransfer %{time_starttransfer} total %{time_total}\\n"
)


def proxy_queue(stage: Scene) -> None:
    needs("haproxy", "curl")
    stage.start(stage.script("orders.py", ORDERS))
    settings = PROXY.format(most=2 if stage.bad else 60)
    (stage.work / "haproxy.cfg").write_text(settings, encoding="ascii")
    (stage.out / "haproxy-cfg.txt").write_text(settings.lstrip(), encoding="ascii")
    with (stage.out / "haproxy-log.txt").open("wb") as into:
        proxy = subprocess.Popen(
            ["haproxy", "-db", "-f", str(stage.work / "haproxy.cfg")],
            stdout=into, stderr=subprocess.DEVNULL, env=plain(), start_new_session=True,
        )  # fmt: skip
        try:
            time.sleep(1.0)
            shops = stage.start(stage.script("shops.py", SHOPS))
            time.sleep(2.0)
            stage.print("stats.txt", ["curl", "-s", "http://127.0.0.1:18080/stats;csv"])
            for _ in range(2):
                stage.print(
                    "curl.txt", ["curl", "-s", "-o", "/dev/null", "-w", TIMES, "http://127.0.0.1:18080/orders/7"]
                )
            shops.wait(timeout=40)
        finally:
            proxy.kill()
            proxy.wait(timeout=10)


BILLING = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain("cert.pem", "key.pem")
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 18443)); s.listen(16)
    while True:
        c, _ = s.accept()
        try:
            t = context.wrap_socket(c, server_side=True)
            t.recv(4096); t.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nok\\n"); t.close()
        except OSError:
            c.close()
"""

INVOICES = """
    import ssl, time, urllib.request
    context = ssl.create_default_context(cafile="cert.pem"); context.check_hostname = False
    for n in range(6):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            urllib.request.urlopen("https://127.0.0.1:18443/invoices", context=context, timeout=10).read()
            print(f"{stamp} INFO  invoices: batch {n + 1} sent", flush=True)
        except OSError as error:
            print(f"{stamp} ERROR invoices: batch {n + 1} not sent: {error}", flush=True)
        time.sleep(1)
"""

ISSUER = """
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index.txt
serial = serial.txt
default_md = sha256
policy = any
x509_extensions = server
[any]
commonName = supplied
[server]
basicConstraints = CA:TRUE
subjectAltName = DNS:billing.example.test
"""


def expired_certificate(stage: Scene) -> None:
    needs("openssl", "curl")
    work = stage.work
    (work / "ca.cnf").write_text(ISSUER, encoding="ascii")
    (work / "index.txt").touch()
    (work / "serial.txt").write_text("1000\n", encoding="ascii")
    subject = ["-subj", "/CN=billing.example.test"]
    end = "20261121000000Z" if stage.bad else "20361121000000Z"
    request = ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem", *subject]
    sign = ["ca", "-batch", "-selfsign", "-config", "ca.cnf", "-keyfile", "key.pem", "-in", "request.pem", "-notext"]
    for words in (request, [*sign, "-startdate", "20251121000000Z", "-enddate", end, "-out", "cert.pem"]):
        subprocess.run(["openssl", *words], cwd=work, check=True, timeout=30, capture_output=True)
    stage.start(stage.script("billing.py", BILLING), cwd=work)
    time.sleep(1.0)
    with (stage.out / "invoices-log.txt").open("wb") as into:
        invoices = stage.script("invoices.py", INVOICES)
        subprocess.run(invoices, cwd=work, stdout=into, stderr=subprocess.DEVNULL, check=False, timeout=40)
    connect = ["openssl", "s_client", "-connect", "127.0.0.1:18443", "-servername", "billing.example.test"]
    shown = [*connect, "-CAfile", str(work / "cert.pem")]
    named = ["--resolve", "billing.example.test:18443:127.0.0.1", "--cacert", str(work / "cert.pem")]
    fetch = ["curl", "-v", *named, "https://billing.example.test:18443/invoices"]
    for file, argv in (("openssl.txt", shown), ("curl.txt", fetch)):
        with (stage.out / file).open("wb") as into:
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=into, stderr=subprocess.STDOUT, env=plain(), check=False, timeout=20
            )  # fmt: skip


INCIDENTS = (
    Incident("proxy-queue", "A proxy lets two requests at a time through to its server, the others wait in its queue.", proxy_queue,
             {"layer": "configuration", "also": ["client_app"], "mechanism": "connection-limit"},
             {"symptom": {"text": "orders take more than half a second"}}, {"symptom": {"text": "orders take more than half a second"}}),
    Incident("expired-certificate", "The certificate of a server has expired, and its client sends nothing any more.", expired_certificate,
             {"layer": "configuration", "mechanism": "certificate"},
             {"symptom": {"text": "no invoices since Saturday"}}, {}),
)  # fmt: skip

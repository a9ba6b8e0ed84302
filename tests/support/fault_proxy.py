"""A proxy in front of an HTTP server that makes it fail as networks and busy stores do, by a seeded plan.

Requests pass as they came, the ``Host`` header and the raw path too, so signatures stay valid.
"""

import http.client
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, Self
from urllib.parse import urlsplit

Fault = Literal["slow_down", "error", "reset", "lost", "cut", "slow"]
"""503 SlowDown; 500 InternalError; the connection reset before the server hears of the request; a write that is carried
out and whose answer is lost; an answer that ends in the middle; a pause first."""

_WRITES = ("PUT", "POST", "DELETE")
_ONE_HOP = ("connection", "keep-alive", "expect", "transfer-encoding")
_REFUSALS: dict[Fault, tuple[int, bytes]] = {"slow_down": (503, b"SlowDown"), "error": (500, b"InternalError")}


class FaultProxy:
    """``with FaultProxy(server.endpoint, {"reset": 0.1}, seed=1) as proxy``: of the requests to ``proxy.endpoint``,
    one in ten is reset; the plan says for each kind how likely it is. ``met`` counts the faults that happened,
    ``requests`` all requests. ``lost`` happens to writes alone, ``cut`` to answers with a body.
    """

    def __init__(self, target: str, plan: Mapping[Fault, float], seed: int = 0, pause: float = 0.2) -> None:
        self.plan, self.pause = dict(plan), pause
        self.met: Counter[Fault] = Counter()
        self.requests = 0
        self.target = urlsplit(target).netloc
        self._random, self._lock = random.Random(seed), threading.Lock()
        self._server = _Server(("127.0.0.1", 0), type("Bound", (_Handler,), {"proxy": self}))
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def draw(self, method: str) -> Fault | None:
        """The fault that this request meets."""
        with self._lock:
            self.requests += 1
            drawn, upto = self._random.random(), 0.0
            for fault, share in self.plan.items():
                upto += share
                if drawn < upto:
                    return fault if fault != "lost" or method in _WRITES else None
            return None

    def count(self, fault: Fault) -> None:
        with self._lock:
            self.met[fault] += 1

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None: ...

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.proxy.draw(self.command)
        if fault == "reset":
            self._break_off(fault)
            return
        if fault in _REFUSALS:
            self._refuse(fault)
            return
        if fault == "slow":
            self.proxy.count(fault)
            threading.Event().wait(self.proxy.pause)  # not time.sleep, which a test may shorten
        status, headers, answer = self._forward(body)
        if fault == "lost":
            self._break_off(fault)
            return
        self._send(status, headers, answer, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815 - http.server looks for these names

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.proxy.target, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _ONE_HOP:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes, fault: Fault | None) -> None:
        self.send_response_only(status)
        kept = [(name, value) for name, value in headers if name.lower() not in _ONE_HOP]
        if not any(name.lower() == "content-length" for name, _ in kept) and status != 204:
            kept.append(("Content-Length", str(len(body))))
        for name, value in kept:
            self.send_header(name, value)
        self.end_headers()
        if fault == "cut" and body:
            self.wfile.write(body[: (len(body) + 1) // 2])
            self._break_off(fault)
        else:
            self.wfile.write(body)

    def _refuse(self, fault: Fault) -> None:
        self.proxy.count(fault)
        status, code = _REFUSALS[fault]
        body = b"" if self.command == "HEAD" else b"<Error><Code>%s</Code><Message>try later</Message></Error>" % code
        self._send(status, [("Content-Type", "application/xml")], body, None)

    def _break_off(self, fault: Fault) -> None:
        """A half-sent answer ends the plain way, so that what was sent arrives; the rest is reset."""
        self.proxy.count(fault)
        self.close_connection = True
        self.wfile.flush()
        if fault == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

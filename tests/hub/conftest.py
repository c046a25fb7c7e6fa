"""A server on 127.0.0.1 whose files and faults a test chooses, and no other network."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

RANKS = b"YQ== 0\nYg== 1\nYWI= 2\n"
"""A rank file: `a`, `b` and `ab`."""


@dataclass
class Answer:
    """What the server says to one request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None
    """A Content-Length that the body does not keep; -1: none at all."""


@dataclass
class Server:
    """Answers by path. A list of answers is given in order, and its last one from then on."""

    url: str
    answers: dict[str, Answer | list[Answer] | Callable[[], Answer]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [path for _, path in self.requests]

    def answer(self, method: str, path: str) -> Answer:
        """What is said to this request."""
        self.requests.append((method, path))
        found = self.answers.get(path.partition("?")[0], Answer(b"none", status=404))
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found if isinstance(found, Answer) else found()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Server

    def do_GET(self) -> None:  # the name is http.server's
        self._say("GET")

    def do_HEAD(self) -> None:
        self._say("HEAD")

    def _say(self, method: str) -> None:
        answer = self.site.answer(method, self.path)
        self.send_response(answer.status)
        length = len(answer.body) if answer.promised is None else answer.promised
        if length >= 0:
            self.send_header("Content-Length", str(length))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.promised is not None:
            self.send_header("Connection", "close")
        self.end_headers()
        if method == "GET":
            with contextlib.suppress(ConnectionError):  # the other side has heard enough
                self.wfile.write(answer.body)
        self.close_connection = answer.promised is not None

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that knows no files yet."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    site = Server(f"http://127.0.0.1:{http.server_port}")
    http.RequestHandlerClass = type("Handler", (_Handler,), {"site": site})
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield site
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No connection leaves the machine, and every cache is an empty folder of the test."""
    look_up = socket.getaddrinfo

    def local(host: Any, *rest: Any, **options: Any) -> Any:
        assert host in ("127.0.0.1", "localhost"), f"a test asks for {host}"
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local)
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where tiktoken has a cache, too


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection is a failure of the test."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folder that `TOKENMILL_CACHE` names; it does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`publish("cl100k_base.tiktoken", content)`: the server has this file, and its hash is the known one."""
    from tokenmill.hub.encodings import FILES

    def put(name: str, content: bytes = RANKS, answer: Answer | list[Answer] | None = None) -> None:
        digest = hashlib.sha256(content).hexdigest()
        url = f"{server.url}/{name}"
        monkeypatch.setitem(FILES, name, replace(FILES[name], url=url, sha256=digest, size=len(content)))
        server.answers[f"/{name}"] = Answer(content) if answer is None else answer

    return put

"""The page of runs that are still going on, served to this computer only.

Runs are read, never written to. To leave the processors to training, a page is built again only if
files have changed, and so seldom that building takes at most `SHARE` of the time of one core.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from selfpaced.errors import SelfpacedError
from selfpaced.reports.page.document import Content, json_text, render
from selfpaced.reports.page.source import find_runs

SHARE = 0.01
ADDRESS = "127.0.0.1"

_WATCHED = ("experiment.json", "summary.json", "advice.json", "checkpoints/*.safetensors")


class State(NamedTuple):
    """A page at some moment, and a name of its content."""

    content: Content
    version: str
    update: bytes  # JSON


class LivePage:
    """Builds the page of some folders again when their files change.

    Args:
        paths: run folders, or folders of them.
        build: makes the content.
        seconds: time between two looks, at least.
    """

    def __init__(
        self, paths: Sequence[Path], build: Callable[[], Content], seconds: float = 5.0
    ) -> None:
        self.seconds = seconds
        self._paths, self._build, self._lock = paths, build, Lock()
        self._state: State | None = None
        self._seen: object = None
        self._not_before = 0.0
        self._efforts: deque[float] = deque(maxlen=2)  # seconds of the processor

    def state(self) -> State:
        """Return the newest page that may be built now."""
        with self._lock:
            now = time.monotonic()
            if self._state is None or (now >= self._not_before and self._seen != self._files()):
                self._seen = self._files()
                start = time.process_time()
                content = self._build()
                update = json_text(content.update()).encode()
                version = f'"{hashlib.blake2b(update, digest_size=12).hexdigest()}"'
                if self._state is not None:  # the first build imports what draws
                    self._efforts.append(time.process_time() - start)
                self._state = State(content, version, update)
                # of two, as one of them may have imported a problem, which happens once
                is_known = len(self._efforts) == 2
                effort = min(self._efforts) if is_known else 0.0
                self._not_before = time.monotonic() + max(effort / SHARE, self.seconds / 2)
            return self._state

    def document(self) -> str:
        """Return the whole page."""
        state = self.state()
        return render(state.content, self.seconds, state.version)

    def _files(self) -> list[tuple[str, int, int]]:
        found = []
        for folder in find_runs(self._paths)[0]:
            for pattern in _WATCHED:
                for path in folder.glob(pattern):
                    try:
                        status = path.stat()
                    except FileNotFoundError:  # replaced at this moment
                        continue
                    found.append((str(path), status.st_mtime_ns, status.st_size))
        return sorted(found)


class Server(ThreadingHTTPServer):
    """Serves a live page on this computer; other computers cannot connect."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, page: LivePage, port: int) -> None:
        self.page = page
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise SelfpacedError(
                f"port {port} must be free, got: {error.strerror}; choose another with --port, "
                "0 takes any"
            ) from None

    @property
    def url(self) -> str:
        """The address for a browser."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore browsers that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page, or with its news."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in (ADDRESS, "localhost"):  # a foreign name that leads here
            return self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"localhost only")
        if self.path == "/":
            document = self.server.page.document().encode()
            return self._answer(HTTPStatus.OK, "text/html; charset=utf-8", document)
        if self.path != "/page.json":
            return self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"not found")
        state = self.server.page.state()
        if self.headers.get("If-None-Match") == state.version:
            return self._answer(HTTPStatus.NOT_MODIFIED, "application/json", b"", state.version)
        return self._answer(HTTPStatus.OK, "application/json", state.update, state.version)

    def _answer(self, status: HTTPStatus, kind: str, body: bytes, version: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        if version:
            self.send_header("ETag", version)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: a request is no event."""

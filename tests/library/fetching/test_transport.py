"""Time-outs, cancellation, TLS and hosts that cannot be reached, on real sockets."""

import itertools
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.domain import Cancellation
from chatbot.domain.errors import LoadError
from chatbot.library.fetching import fetch
from chatbot.library.fetching.transport import ANYWHERE
from tests.fakes.web_server import Page, WebServer, certificate_for, redirect
from tests.library.fetching.helpers import HERE, lookup, refused, refused_here

AT_ONCE = 10.0
"""Seconds, at most, for what does not wait for the server; the servers here never
end.
"""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"


class TestTime:
    @pytest.mark.parametrize(
        "begin", [b"", b"HTTP/1.1 200 OK\r\nX-Slow: "], ids=["body", "headers"]
    )
    def test_a_server_that_drips(
        self, begin: bytes, server: WebServer, tmp_path: Path
    ) -> None:
        with socket.create_server((HERE, 0)) as listening:
            stop = threading.Event()
            dripping = threading.Thread(
                target=_drip, args=(listening, begin or _HEAD, stop)
            )
            dripping.start()
            began = time.monotonic()
            message = refused_here(
                tmp_path, f"http://{HERE}:{listening.getsockname()[1]}/", seconds=0.5
            )
            took = time.monotonic() - began
            stop.set()
            dripping.join()
        assert "did not arrive within 0.5 seconds" in message
        assert took < AT_ONCE

    def test_a_server_that_says_nothing(self, tmp_path: Path) -> None:
        with WebServer(silent=True) as silent:
            for url in (silent.url(), silent.url().replace("http:", "https:")):
                assert "did not arrive within 0.3 seconds" in refused_here(
                    tmp_path, url, seconds=0.3
                )

    def test_a_name_server_that_says_nothing(self, tmp_path: Path) -> None:
        answer = threading.Event()
        began = time.monotonic()
        message = refused(
            tmp_path,
            "http://a.example/",
            seconds=0.3,
            resolve=lambda host, port: [str(answer.wait(60))],
        )
        answer.set()
        assert "did not arrive within 0.3 seconds" in message
        assert time.monotonic() - began < AT_ONCE

    def test_the_time_is_for_all_redirects_together(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        def slow(host: str, port: int) -> list[str]:
            time.sleep(0.3)
            return [HERE]

        server.pages["/a"] = redirect("/a")
        message = refused_here(
            tmp_path, server.url("/a", host="a.example"), seconds=0.7, resolve=slow
        )
        assert "did not arrive within 0.7 seconds" in message


def _drip(listening: socket.socket, begin: bytes, stop: threading.Event) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.sendall(begin)
        try:
            while not stop.wait(0.02):
                connection.sendall(b"x")
        except OSError:
            return


@pytest.mark.parametrize("where", ["lookup", "connection", "handshake", "body"])
def test_cancelling_ends_it_at_once(where: str, tmp_path: Path) -> None:
    cancel = Cancellation()
    answer = threading.Event()
    resolve = (
        (lambda host, port: [str(answer.wait(60))]) if where == "lookup" else lookup()
    )
    with WebServer(silent=where != "body") as server, _never_connects() as full:
        server.pages["/"] = Page(itertools.repeat(b"x"), pause=0.05)
        url = full if where == "connection" else server.url()
        url = url.replace("http:", "https:") if where == "handshake" else url
        timer = threading.Timer(0.3, cancel.cancel)
        began = time.monotonic()
        timer.start()
        message = refused_here(tmp_path, url, cancel=cancel, resolve=resolve)
        took = time.monotonic() - began
        timer.join()
        answer.set()
    assert "cancelled" in message
    assert 0.25 < took < AT_ONCE


class _never_connects:  # noqa: N801  # used as a function
    """A port whose queue of waiting connections is full."""

    def __enter__(self) -> str:
        self.listening = socket.socket()
        self.listening.bind((HERE, 0))
        self.listening.listen(0)
        self.waiting = []
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(self.listening.getsockname())
            self.waiting.append(waiting)
        return f"http://{HERE}:{self.listening.getsockname()[1]}/"

    def __exit__(self, *error: object) -> None:
        for each in (*self.waiting, self.listening):
            each.close()


class TestUnreachable:
    def test_a_refused_connection_is_named(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind((HERE, 0))
            message = refused_here(tmp_path, f"http://{HERE}:{taken.getsockname()[1]}/")
        assert "127.0.0.1 refuses the connection" in message

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (
                socket.gaierror(socket.EAI_NONAME, "?"),
                "there is no host called a.example",
            ),
            (socket.gaierror(socket.EAI_AGAIN, "?"), "the name server does not answer"),
            (UnicodeError("label"), "there is no host called a.example"),
            (None, "has no address"),
        ],
    )
    def test_a_name_that_is_not_known(
        self, error: Exception | None, said: str, tmp_path: Path
    ) -> None:
        def resolve(host: str, port: int) -> list[str]:
            if error is not None:
                raise error
            return []

        assert said in refused(tmp_path, "http://a.example/", resolve=resolve)


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return certificate_for(tmp_path_factory.mktemp("tls"), "reports.example", HERE)

    @pytest.fixture
    def trusted(self, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        return certificate

    def test_the_certificate_is_checked_against_the_name(
        self, trusted: Path, tmp_path: Path
    ) -> None:
        resolve = lookup(reports_example=HERE, other_example=HERE)
        with WebServer(certificate=trusted) as server:
            server.pages["/a"] = Page(b"x")
            url = server.url("/a", host="reports.example")
            assert (
                fetch(url, tmp_path, rules=replace(ANYWHERE, resolve=resolve)).name
                == "a.html"
            )
            assert fetch(server.url("/a"), tmp_path, rules=ANYWHERE).name == "a-2.html"
            with pytest.raises(
                LoadError, match=r"other\.example is not trusted: Hostname mismatch"
            ):
                fetch(
                    server.url("/a", host="other.example"),
                    tmp_path,
                    rules=replace(ANYWHERE, resolve=resolve),
                )

    def test_one_that_nobody_vouches_for(
        self, certificate: Path, tmp_path: Path
    ) -> None:
        with WebServer(certificate=certificate) as server:
            assert "is not trusted: self-signed certificate" in refused_here(
                tmp_path, server.url("/a")
            )
            assert server.requests == []

    def test_a_port_without_tls(self, server: WebServer, tmp_path: Path) -> None:
        message = refused_here(tmp_path, server.url("/a").replace("http:", "https:"))
        assert "TLS failed" in message or "broke off" in message

    def test_an_encrypted_page_does_not_lead_to_an_unencrypted_one(
        self, trusted: Path, server: WebServer, tmp_path: Path
    ) -> None:
        with WebServer(certificate=trusted) as secure:
            secure.pages["/a"] = redirect(server.url("/b"))
            assert "unencrypted" in refused_here(tmp_path, secure.url("/a"))
            server.pages["/c"] = redirect(secure.url("/d"))
            secure.pages["/d"] = Page(b"x")
            assert fetch(server.url("/c"), tmp_path, rules=ANYWHERE).name == "d.html"
        assert [request.path for request in server.requests] == ["/c"]

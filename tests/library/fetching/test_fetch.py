"""From a URL to a file, from a real server on loopback; nothing is left behind where it
fails. What is sent there.
"""

import gzip
import itertools
from pathlib import Path

import pytest

from chatbot import __version__
from chatbot.domain.errors import LoadError
from chatbot.library.fetching import fetch
from chatbot.library.fetching.transport import ANYWHERE
from tests.fakes.web_server import Page, WebServer, redirect
from tests.library.fetching.helpers import fetch_as_public, refused_here

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DECLARED = HEAD + b"Content-Length: 1000\r\n\r\n"


class TestPages:
    def test_a_page_is_stored_under_a_name_that_fits(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/reports/kenya%202023?lang=en"] = Page(b"<p>Kenya</p>")
        url = server.url("/reports/kenya%202023?lang=en")
        found = fetch(f" {url}#population\n", tmp_path, rules=ANYWHERE)
        assert found == tmp_path / "kenya 2023.html"
        assert found.read_bytes() == b"<p>Kenya</p>"

    def test_what_is_sent_says_who_asks_and_nothing_more(
        self, server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        server.pages["/"] = Page(
            status=302, headers={"Location": "/b", "Set-Cookie": "id=4711"}
        )
        server.pages["/b"] = Page(b"x")
        fetch(server.url("/"), tmp_path, rules=ANYWHERE)
        for request in server.requests:
            assert set(request.headers) == {
                "host",
                "user-agent",
                "accept",
                "accept-encoding",
                "connection",
            }
            assert request.headers["user-agent"] == f"report-chat/{__version__}"
            assert request.headers["accept-encoding"] == "identity"
        assert len(server.requests) == 2

    def test_a_chunked_body_and_one_that_ends_with_the_connection(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/chunked"] = Page(
            raw=CHUNKED + b"3\r\nKen\r\n2\r\nya\r\n0\r\n\r\n"
        )
        server.pages["/open"] = Page([b"Ken", b"ya"], "text/plain")
        for path in ("/chunked", "/open"):
            assert (
                fetch(server.url(path), tmp_path, rules=ANYWHERE).read_bytes()
                == b"Kenya"
            )

    def test_a_large_page_arrives_whole(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        data = bytes(range(256)) * 20_000
        server.pages["/a.pdf"] = Page(data, "application/pdf")
        assert (
            fetch(server.url("/a.pdf"), tmp_path, rules=ANYWHERE).read_bytes() == data
        )

    def test_a_name_that_is_taken_is_left_alone(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(b"new")
        (tmp_path / "a.html").write_text("old")
        assert fetch(server.url("/a"), tmp_path, rules=ANYWHERE).name == "a-2.html"
        assert (tmp_path / "a.html").read_text() == "old"

    def test_a_folder_that_is_not_there(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(b"x")
        with pytest.raises(
            LoadError, match="cannot be stored here: No such file or directory"
        ):
            fetch(server.url("/a"), tmp_path / "none", rules=ANYWHERE)


class TestRedirects:
    def test_five_are_followed(self, server: WebServer, tmp_path: Path) -> None:
        for number, status in enumerate((301, 302, 303, 307, 308)):
            server.pages[f"/{number}"] = redirect(f"/{number + 1}#there", status)
        server.pages["/5"] = Page(b"x")
        fetch(server.url("/0"), tmp_path, rules=ANYWHERE)
        assert server.requests[-1].path == "/5"
        assert not any("referer" in request.headers for request in server.requests)

    def test_a_loop_ends_at_the_sixth(self, server: WebServer, tmp_path: Path) -> None:
        server.pages["/a"] = redirect("/a")
        assert "redirects more than 5 times" in refused_here(tmp_path, server.url("/a"))
        assert len(server.requests) == 6

    @pytest.mark.parametrize(
        ("location", "said"),
        {
            "http://127.0.0.2/admin": "not on the public Internet",
            "http://169.254.169.254/latest/meta-data/": "not on the public Internet",
            "//2130706434/": "not on the public Internet",
            "http://[::1]/": "not on the public Internet",
            "file:///etc/passwd": "begin with http",
            "http://anna:s3cret@a.example/": "user name or password",
            "http://[::1": "an invalid address",
        }.items(),
    )
    def test_each_is_checked_like_the_first(
        self, location: str, said: str, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = redirect(location)
        with pytest.raises(LoadError, match=said) as caught:
            fetch_as_public(server.url("/a"), tmp_path)
        assert caught.value.message.startswith(server.url("/a"))
        assert "s3cret" not in caught.value.message
        assert list(tmp_path.iterdir()) == []

    def test_the_same_without_a_private_target_succeeds(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = redirect(server.url("/b"))
        server.pages["/b"] = Page(b"x")
        assert fetch_as_public(server.url("/a"), tmp_path).name == "b.html"

    def test_raw_bytes_in_a_location(self, server: WebServer, tmp_path: Path) -> None:
        server.pages["/a"] = Page(
            raw="HTTP/1.1 302 Found\r\nLocation: /Côte d\r\n\r\n".encode()
        )
        server.pages["/C%C3%B4te%20d"] = Page(b"x")
        assert fetch(server.url("/a"), tmp_path, rules=ANYWHERE).name == "Côte d.html"

    def test_without_saying_where_to(self, server: WebServer, tmp_path: Path) -> None:
        server.pages["/a"] = Page(status=302)
        assert "302 Found without saying where to" in refused_here(
            tmp_path, server.url("/a")
        )


class TestSize:
    MAX = 100_000

    @pytest.mark.parametrize(
        ("page", "said"),
        [
            (Page(b"x", length=100_001), "larger than 0.0954 MB"),
            (Page(itertools.repeat(b"x" * 1000)), "larger than 0.0954 MB"),
            (
                Page(raw=CHUNKED + b"fffffff\r\n" + b"x" * 600_000),
                "larger than 0.0954 MB",
            ),
            (
                Page(raw=CHUNKED + b"-1\r\n" + b"x" * 600_000),
                "did not answer in valid HTTP",
            ),
            (
                Page(
                    raw=b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"x" * 9_000 + b"\r\n") * 90
                ),
                "did not answer in valid HTTP",
            ),
            (
                Page(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 40_000),
                "sends more than it may",
            ),
            (
                Page(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 600_000),
                "did not answer in valid HTTP",
            ),
        ],
        ids=[
            "declared",
            "endless",
            "a huge chunk",
            "a chunk of -1",
            "headers",
            "never begins",
            "a long line",
        ],
    )
    def test_a_page_above_the_limit_is_refused(
        self, page: Page, said: str, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = page
        assert said in refused_here(
            tmp_path, server.url("/a"), max_bytes=self.MAX, seconds=10.0
        )

    def test_exactly_the_limit_is_allowed(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(b"x" * self.MAX)
        found = fetch(server.url("/a"), tmp_path, rules=ANYWHERE, max_bytes=self.MAX)
        assert found.stat().st_size == self.MAX

    def test_a_compressed_body_is_not_opened(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        bomb = gzip.compress(bytes(10_000_000))
        assert len(bomb) < self.MAX
        for header, said in {
            "Content-Encoding": "sends it compressed",
            "Transfer-Encoding": "valid HTTP",
        }.items():
            server.pages["/a"] = Page(bomb, headers={header: "gzip"})
            assert said in refused_here(tmp_path, server.url("/a"), max_bytes=self.MAX)


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "said"),
        {
            404: "404 Not Found. Check the address.",
            403: "403 Forbidden. It refuses programs",
            401: "401 Unauthorized. It asks for a login",
            429: "429 Too Many Requests. It gets too many requests",
            500: "500 Internal Server Error. Its server has a problem",
            204: "204 No Content.",
            206: "206 Partial Content.",
            299: "299.",
        }.items(),
    )
    def test_a_failing_status_is_named(
        self, status: int, said: str, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(b"" if status == 204 else b"x", status=status)
        assert f"{server.url('/a')}: the server answered {said}" in refused_here(
            tmp_path, server.url("/a")
        )

    def test_what_a_server_says_of_itself_is_not_repeated(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(raw=b"HTTP/1.1 404 <script>\r\n\r\n")
        server.pages["/b"] = Page(b"x", "<script>")
        for path in ("/a", "/b"):
            assert "<script>" not in refused_here(tmp_path, server.url(path))

    def test_nothing_in_it(self, server: WebServer, tmp_path: Path) -> None:
        server.pages["/a"] = Page(b"")
        assert "sent nothing" in refused_here(tmp_path, server.url("/a"))

    @pytest.mark.parametrize(
        ("raw", "said"),
        {
            DECLARED + b"only this": "broke off",
            CHUNKED + b"ff\r\nonly": "broke off",
            CHUNKED + b"-5\r\nx": "valid HTTP",
            b"220 mail.example ESMTP\r\n": "valid HTTP",
            b"HTTP/1.1 abc\r\n\r\n": "valid HTTP",
            b"": "broke off",
        }.items(),
    )
    def test_an_answer_that_is_broken(
        self, raw: bytes, said: str, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = Page(raw=raw)
        assert said in refused_here(tmp_path, server.url("/a"))

"""Where a fetch may go, and that it goes to the very address that was checked."""

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.fetching import fetch
from chatbot.library.fetching.transport import ANYWHERE, Rules, is_public
from tests.data import cases
from tests.fakes.web_server import Page, WebServer, redirect
from tests.library.fetching.helpers import HERE, PUBLIC, Resolver, lookup, refused


class TestTheAddressThatWasCheckedIsTheOneConnectedTo:
    def test_a_name_is_looked_up_once_and_stays_in_the_host_header(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        """The name exists nowhere else: a second lookup on the way to the connection
        would fail.
        """
        server.pages["/a"] = Page(b"x")
        resolve = lookup(reports_example=HERE)
        fetch(
            server.url("/a", host="Reports.Example"),
            tmp_path,
            rules=replace(ANYWHERE, resolve=resolve),
        )
        assert resolve.asked == ["reports.example"]
        assert server.requests[0].headers["host"] == f"reports.example:{server.port}"

    def test_a_name_that_changes_its_address_after_the_check(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        with WebServer(address="127.0.0.2") as other:
            server.pages["/a"] = Page(b"checked")
            resolve = lookup(rebinding_example=f"{HERE} 127.0.0.2")
            url = server.url("/a", host="rebinding.example")
            found = fetch(url, tmp_path, rules=replace(ANYWHERE, resolve=resolve))
            assert found.read_bytes() == b"checked"
            assert (resolve.asked, other.connections) == (["rebinding.example"], 0)

    def test_it_is_checked_again_at_a_redirect_to_the_same_host(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/a"] = redirect("/b")
        resolve = lookup(rebinding_example=f"{HERE} 10.0.0.1")
        rules = Rules(resolve, permitted=lambda address: address == HERE, ports=None)
        with pytest.raises(
            LoadError, match=r"rebinding\.example is not on the public Internet"
        ):
            fetch(
                server.url("/a", host="rebinding.example"),
                tmp_path,
                rules=rules,
                seconds=5.0,
            )
        assert [request.path for request in server.requests] == ["/a"]

    @pytest.mark.parametrize(
        "answer",
        [[PUBLIC, HERE], [HERE, PUBLIC], [PUBLIC, "::1"], [PUBLIC, "fe80::1%eth0"]],
    )
    def test_one_private_address_among_public_ones(
        self, answer: list[str], tmp_path: Path
    ) -> None:
        message = refused(
            tmp_path,
            "http://mixed.example/",
            resolve=Resolver({"mixed.example": [answer]}),
        )
        assert "mixed.example is not on the public Internet" in message
        assert not any(address in message for address in answer)

    def test_the_next_address_is_tried(self, server: WebServer, tmp_path: Path) -> None:
        server.pages["/a"] = Page(b"x")
        resolve = Resolver({"two.example": [["127.0.0.3", HERE]]})
        fetch(
            server.url("/a", host="two.example"),
            tmp_path,
            rules=replace(ANYWHERE, resolve=resolve),
        )
        assert len(server.requests) == 1


CASES = cases(__file__)


@pytest.mark.parametrize(
    ("address", "public"),
    [(each, said) for row, said in CASES["addresses"].items() for each in row.split()],
)
def test_public_addresses_are_told_from_private_ones(
    address: str, public: bool
) -> None:
    assert is_public(address) is public


ODD_HOSTS = """
    127.0.0.1 localhost 2130706433 0x7f.1 0x7f000001 0177.0.0.1 127.1 0 127.0.0.1. 169.254.169.254 １２７.０.０.１
    ①②⑦.⓪.⓪.① [::1] [fe80::1] [::ffff:127.0.0.1] [::ffff:7f00:1]
"""  # noqa: E501


@pytest.mark.parametrize("host", ODD_HOSTS.split())
def test_every_way_to_write_a_private_address(host: str, tmp_path: Path) -> None:
    """With the operating system's own lookup, which reads the odd forms."""
    assert "is not on the public Internet" in refused(tmp_path, f"http://{host}/")


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "said"),
        [
            *cases(__file__)["refused_before_any_lookup"].items(),
            (f"http://{'a' * 64}.example/", "no valid host name"),
            ("http://a.example/" + "x" * 2_000, "longer than 2,000 characters"),
        ],
    )
    def test_refused_before_any_lookup(
        self, url: str, said: str, tmp_path: Path
    ) -> None:
        resolve = Resolver({})
        assert said in refused(tmp_path, url, resolve=resolve)
        assert resolve.asked == []

    @pytest.mark.parametrize("port", [80, 443, 8080, 8443])
    def test_ports_of_the_web(self, port: int, tmp_path: Path) -> None:
        message = refused(
            tmp_path, f"http://a.example:{port}/", resolve=lookup(a_example=HERE)
        )
        assert "is not on the public Internet" in message

    @pytest.mark.parametrize(
        "url",
        [
            "http://anna:s3cret@a.example/x",
            "http://s3cret@a.example/",
            "anna:s3cret@a.example",
        ],
    )
    def test_user_name_and_password_are_refused_and_not_repeated(
        self, url: str, tmp_path: Path
    ) -> None:
        message = refused(tmp_path, url)
        assert "s3cret" not in message
        assert "anna" not in message
        assert "a.example" in message

    def test_names_in_other_scripts_and_odd_characters(
        self, server: WebServer, tmp_path: Path
    ) -> None:
        server.pages["/C%C3%B4te?x=%22%C3%A9%22"] = Page(b"x")
        resolve = Resolver({"xn--fa-hia.example": [[HERE]]})
        url = server.url('/Côte?x="é"', host="faß.example")
        assert (
            fetch(url, tmp_path, rules=replace(ANYWHERE, resolve=resolve)).name
            == "Côte.html"
        )

    def test_a_message_is_one_line_of_bounded_length(self, tmp_path: Path) -> None:
        message = refused(tmp_path, "http://a.example/" + "x\n" * 5_000)
        assert len(message) < 500
        assert "\n" not in message

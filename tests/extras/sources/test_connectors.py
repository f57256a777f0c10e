"""Every kind of source: what it lists, what it fetches, and what it says of a table
that it does not understand.

The web is a server on loopback, the bucket one of moto's S3 server (a test is skipped
where moto is not installed).
"""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot.domain.errors import InvalidRequestError, LoadError
from chatbot.domain.validation import parse
from chatbot.extras.sources.connectors import CONNECTORS, Connector, SourceFile
from chatbot.library.fetching import READABLE, fetch
from chatbot.library.fetching.transport import ANYWHERE
from chatbot.library.loaders import suffixes
from tests.conftest import KENYA_2023, write_report
from tests.fakes.web_server import Page, WebServer

KENYA = Page(KENYA_2023.encode(), "text/markdown")
XML = "application/xml"
Table = dict[str, Any]


def download(url: str, folder: Path, *, also: Any = READABLE) -> Path:
    return fetch(url, folder, rules=ANYWHERE, also=also)


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        server.pages |= {"/kenya.md": KENYA, "/mali.md": KENYA}
        yield server


def sitemap(*urls: str, changed: str = "2026-11-01") -> bytes:
    entries = "".join(
        f"<url><loc>{url}</loc><lastmod>{changed}</lastmod></url>" for url in urls
    )
    return (
        "<urlset "
        f'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    ).encode()


def folder(tmp_path: Path, web: WebServer) -> Table:
    write_report(tmp_path / "place", KENYA_2023, "kenya")
    write_report(tmp_path / "place" / "mali", KENYA_2023, "mali")
    (tmp_path / "place" / "picture.xyz").write_bytes(b"x")
    return {"path": str(tmp_path / "place")}


def pages(tmp_path: Path, web: WebServer) -> Table:
    return {"urls": [web.url("/kenya.md"), web.url("/mali.md#land")]}


def sitemap_of(tmp_path: Path, web: WebServer) -> Table:
    """An index of two sitemaps, one of them packed."""
    index = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(
            f"<sitemap><loc>{web.url(path)}</loc></sitemap>"
            for path in ("/one.xml", "/two.xml.gz")
        )
    )
    web.pages["/sitemap.xml"] = Page(f"{index}</sitemapindex>".encode(), XML)
    web.pages["/one.xml"] = Page(
        sitemap(web.url("/kenya.md"), web.url("/private/notes.md")), XML
    )
    web.pages["/two.xml.gz"] = Page(
        gzip.compress(sitemap(web.url("/mali.md"))), "application/gzip"
    )
    return {"url": web.url("/sitemap.xml"), "glob": "*[ai].md"}


def reliefweb(tmp_path: Path, web: WebServer) -> Table:
    """The example of docs/extending.md. Its two answers follow
    https://apidoc.reliefweb.int/result-structure (totalCount, links.next.href,
    data[].fields) and the fields of https://apidoc.reliefweb.int/fields-tables.
    """

    def item(name: str, **fields: Any) -> Table:
        date = {
            "original": "2024-05-02T00:00:00+00:00",
            "changed": "2024-05-03T09:00:00+00:00",
        }
        shared = {"title": name, "date": date, "primary_country": {"name": "Kenya"}}
        return {
            "id": "1",
            "score": 1,
            "fields": {**shared, "format": [{"name": "Situation Report"}], **fields},
        }

    class Answers(dict[str, Page]):
        """The first answer has a query string of its own."""

        def get(self, path: str, default: Any = None) -> Any:
            return super().get(
                "/v2/reports" if path.startswith("/v2/reports?appname=tests") else path,
                default,
            )

    first = item(
        "Kenya: Floods", url=web.url("/node/1"), file=[{"url": web.url("/kenya.md")}]
    )
    second = item("Kenya: Drought", url=web.url("/mali.md"))
    web.pages = Answers(web.pages)
    for path, data, links in (
        ("/v2/reports", [first], {"next": {"href": web.url("/v2/more")}}),
        ("/v2/more", [second], {}),
    ):
        answer = {
            "href": web.url(path),
            "time": 5,
            "links": links,
            "totalCount": 2,
            "count": 1,
            "data": data,
        }
        web.pages[path] = Page(json.dumps(answer).encode(), "application/json")
    return {"api": web.url("/v2/reports"), "appname": "tests", "country": "Kenya"}


def s3(tmp_path: Path, web: WebServer) -> Table:
    moto = pytest.importorskip(
        "moto.server", reason="moto[s3,server] is not installed: no S3 server to ask"
    )
    import boto3

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    web.stop_also = server.stop  # type: ignore[attr-defined]
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1"
    )
    client.create_bucket(Bucket="reports")
    for key in (
        "2024/kenya.md",
        "2024/land/mali.md",
        "2024/picture.xyz",
        "2023/old.md",
    ):
        client.put_object(Bucket="reports", Key=key, Body=KENYA_2023.encode())
    return {
        "endpoint": f"http://{host}:{port}",
        "bucket": "reports",
        "prefix": "2024/",
        "region": "us-east-1",
    }


SAMPLES: dict[str, Callable[[Path, WebServer], Table]] = {
    "folder": folder,
    "pages": pages,
    "reliefweb": reliefweb,
    "s3": s3,
    "sitemap": sitemap_of,
}


@pytest.fixture
def connector(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    web: WebServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Connector]:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "tests"),
        ("AWS_SECRET_ACCESS_KEY", "tests"),
    ):
        monkeypatch.setenv(name, value)
    kind: str = request.param
    if kind not in SAMPLES:
        pytest.skip(f"There is no sample of {kind}.")
    yield parse(
        CONNECTORS.builder(kind), {"kind": kind, **SAMPLES[kind](tmp_path, web)}
    )  # type: ignore[type-var]
    getattr(web, "stop_also", lambda: None)()


every_kind = pytest.mark.parametrize("connector", CONNECTORS.names(), indirect=True)
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:(moto|botocore|boto3|werkzeug|responses)"
)


@every_kind
def test_the_same_files_each_time_that_can_be_read(
    connector: Connector, tmp_path: Path
) -> None:
    listed = [list(connector.files(download)) for _ in range(2)]
    told: list[list[tuple[str, str]]] = [
        [(one.source.identity, one.stamp) for one in files] for files in listed
    ]
    assert told[0] == told[1]
    assert [Path(identity).stem for identity, _ in told[0]] == ["kenya", "mali"]
    for number, one in enumerate(listed[0]):
        assert read(one, tmp_path / str(number)) == KENYA_2023


def read(file: SourceFile, folder: Path) -> str:
    folder.mkdir()
    path = file.source.path if file.fetch is None else file.fetch(folder)
    assert path.suffix in suffixes()
    return path.read_text(encoding="utf-8")


@every_kind
def test_an_unknown_key_is_an_error_that_lists_the_valid_ones(
    connector: Connector,
) -> None:
    with pytest.raises(
        InvalidRequestError,
        match=r"pathh: unknown field\. Valid: .*country_name, .*glob, ",
    ):
        parse(type(connector), {"kind": connector.kind, "pathh": "x"})


def test_what_a_sitemap_cannot_read_stops_no_other(
    tmp_path: Path, web: WebServer
) -> None:
    table = sitemap_of(tmp_path, web)
    connector: Any = parse(CONNECTORS.builder("sitemap"), {"kind": "sitemap", **table})  # type: ignore[type-var]
    del web.pages["/one.xml"]
    listed: list[SourceFile] = []
    with pytest.raises(LoadError, match=r"one\.xml"):
        listed.extend(connector.files(download))
    assert [one.source.identity for one in listed] == [web.url("/mali.md")]
    for body, kind in (
        (b"<html></html>", XML),
        (b"<urlset>", XML),
        (b"\x1f\x8bx", "application/gzip"),
    ):
        web.pages["/sitemap.xml"] = Page(body, kind)
        with pytest.raises(LoadError, match="is not a sitemap"):
            list(connector.files(download))


def test_a_bucket_that_is_not_there_says_so(
    tmp_path: Path, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "tests")
    table = s3(tmp_path, web)
    connector: Any = parse(
        CONNECTORS.builder("s3"), {"kind": "s3", **table, "bucket": "none"}
    )  # type: ignore[type-var]
    with pytest.raises(
        LoadError, match=r"The bucket none cannot be listed: .*NoSuchBucket"
    ):
        list(connector.files(download))
    web.stop_also()  # type: ignore[attr-defined]

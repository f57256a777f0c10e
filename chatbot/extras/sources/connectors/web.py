"""Web pages, and those that a sitemap lists (sitemaps.org), fetched as the pages that
people add.
"""

import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from lxml import etree
from pydantic import Field, StrictStr

from ....domain.errors import LoadError
from ....domain.validation import ADDRESS
from ....library.sources import Source
from . import Connector, Download, SourceFile

Url = Annotated[StrictStr, Field(pattern=ADDRESS)]
SITEMAPS = {
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/gzip": ".gz",
    "application/x-gzip": ".gz",
}
MAX_SITEMAP_BYTES = 50 * 1024**2
"""Unpacked, as the protocol allows."""


def page(url: str, download: Download, stamp: str = "") -> SourceFile:
    return SourceFile(
        Source(Path(), url.partition("#")[0]), stamp, partial(download, url)
    )


class PagesConnector(Connector):
    urls: list[Url] = Field(min_length=1)

    def files(self, download: Download) -> Iterator[SourceFile]:
        for url in self.urls:
            yield page(url, download)


class SitemapConnector(Connector):
    """``url``: of a sitemap, or of an index of sitemaps. A page is fetched again when
    its <lastmod> has changed, or every time if it has none.
    """

    url: Url

    def files(self, download: Download) -> Iterator[SourceFile]:
        root = self._read(self.url, download)
        problems: list[LoadError] = []
        for entry in root.iterfind("{*}sitemap"):
            address = entry.findtext("{*}loc", "").strip()
            try:
                yield from self._pages(self._read(address, download), download)
            except LoadError as error:  # the other sitemaps are read all the same
                problems.append(error)
        yield from self._pages(root, download)
        if problems:
            raise problems[0]

    def _pages(self, root: etree._Element, download: Download) -> Iterator[SourceFile]:
        for entry in root.iterfind("{*}url"):
            url = entry.findtext("{*}loc", "").strip()
            if url and self.matches(url):
                yield page(url, download, entry.findtext("{*}lastmod", "").strip())

    def _read(self, url: str, download: Download) -> etree._Element:
        with TemporaryDirectory(prefix="report-chat-") as folder:
            data = download(url, Path(folder), also=SITEMAPS).read_bytes()
        try:
            if data.startswith(b"\x1f\x8b"):
                # 47 makes zlib read gzip, too.
                data = zlib.decompressobj(47).decompress(data, MAX_SITEMAP_BYTES)
            root = etree.fromstring(
                data, etree.XMLParser(resolve_entities=False, no_network=True)
            )
        except (etree.XMLSyntaxError, zlib.error) as error:
            raise LoadError(f"{url} is not a sitemap: {error}.") from error
        if etree.QName(root).localname not in {"urlset", "sitemapindex"}:
            raise LoadError(
                f"{url} is not a sitemap: it begins with "
                f"<{etree.QName(root).localname}>."
            )
        return root

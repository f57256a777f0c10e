"""Reports of ReliefWeb on one country: their files, with country, year and title from
the fields of its API.

Version 2 of the API: https://apidoc.reliefweb.int. It wants an ``appname`` that
ReliefWeb has approved (https://apidoc.reliefweb.int/parameters#appname). In
`sources.toml`:

    [reliefweb]
    kind = "reliefweb"
    appname = "..."
    country = "Kenya"
    report_format = "Situation Report"
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from pydantic import Field

from ....domain.errors import LoadError
from ....library.loaders import suffixes
from ....library.sources import Source
from . import Connector, Download, SourceFile

FIELDS = (
    "title",
    "url",
    "file.url",
    "date.original",
    "date.changed",
    "primary_country.name",
    "format.name",
)
PAGE = 100
"""Reports of one answer; the API gives up to 1,000."""


class ReliefWebConnector(Connector):
    """``country`` and ``report_format`` as ReliefWeb writes them; ``since``:
    2024-01-01.
    """

    appname: str = Field(min_length=1)
    country: str = Field(min_length=1)
    report_format: str = ""
    since: str = "2000-01-01"
    api: str = "https://api.reliefweb.int/v2/reports"

    def files(self, download: Download) -> Iterator[SourceFile]:
        address = f"{self.api}?{urlencode(self._parameters())}"
        while address:
            with TemporaryDirectory(prefix="report-chat-") as folder:
                answer = json.loads(download(address, Path(folder)).read_bytes())
            if "data" not in answer:
                raise LoadError(f"ReliefWeb: {answer.get('error', answer)}")
            for item in answer["data"]:
                yield from self._files_of(item["fields"], download)
            address = answer.get("links", {}).get("next", {}).get("href", "")

    def _parameters(self) -> list[tuple[str, str]]:
        conditions = {
            "primary_country.name": self.country,
            "format.name": self.report_format,
        }
        parameters = [
            ("appname", self.appname),
            ("limit", str(PAGE)),
            ("sort[]", "date.created:asc"),
        ]
        for number, (field, value) in enumerate(
            (field, value) for field, value in conditions.items() if value
        ):
            parameters.append((f"filter[conditions][{number}][field]", field))
            parameters.append((f"filter[conditions][{number}][value]", value))
        parameters.append(("filter[conditions][2][field]", "date.original"))
        parameters.append(
            ("filter[conditions][2][value][from]", f"{self.since}T00:00:00+00:00")
        )
        return [*parameters, *(("fields[include][]", field) for field in FIELDS)]

    def _files_of(self, fields: dict, download: Download) -> Iterator[SourceFile]:  # type: ignore[type-arg]
        """The files of a report that can be read, else its page."""
        urls = [
            one["url"]
            for one in fields.get("file", ())
            if Path(one["url"]).suffix.lower() in suffixes()
        ]
        metadata: dict[str, str | int] = {"year": int(fields["date"]["original"][:4])}
        if country := fields.get("primary_country", {}).get("name"):
            metadata["country_name"] = country
        labels = tuple(one["name"] for one in fields.get("format", ()))
        for url in urls or [fields["url"]]:
            if self.matches(url):
                source = Source(Path(), url, fields["title"], metadata, labels)
                yield SourceFile(
                    source, fields["date"]["changed"], partial(download, url)
                )


build = ReliefWebConnector

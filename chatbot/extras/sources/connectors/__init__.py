"""The places that a library is kept current with (`sources.toml`), and the files that
they hold now.

A kind of place is one file and one line here. Its `Connector` names the keys of its
tables in the file.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from ....config.settings_types import read_tables
from ....domain.registry import Registry
from ....domain.scope import Value
from ....domain.validation import parse
from ....library.sources import (
    METADATA,
    Description,
    Kind,
    Labels,
    Overrides,
    Source,
    Text,
    Year,
)

EVERY_FILE = "**/*"
Download = Callable[..., Path]
"""``download(url, folder, also={})`` fetches a web address as `fetching.fetch` does.
Raises LoadError.
"""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source. ``fetch(folder)`` puts it into a folder; None: it lies at
    ``source.path`` already.

    ``stamp`` changes with its content; "" = unknown, so that it is fetched and compared
    every time. ``size``: bytes.
    """

    source: Source
    stamp: str = ""
    fetch: Callable[[Path], Path] | None = None
    size: int = 0


class Connector(BaseModel, ABC):
    """A table of `sources.toml`. Its metadata fill what a file, its name or a manifest
    do not state.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    glob: str = Field(EVERY_FILE, min_length=1)
    prune: bool = False
    collection: Text | None = None
    country_name: Text | None = None
    year: Year | None = None
    type: Kind | None = None
    labels: Labels = Field(default_factory=list)
    description: Description | None = None

    @abstractmethod
    def files(self, download: Download) -> Iterator[SourceFile]:
        """Yield the files that are there now. Raises LoadError: the place cannot be
        read.
        """

    def matches(self, name: str) -> bool:
        """Return whether a name that is no path of this machine matches ``glob``; its *
        also stands for /.
        """
        return any(
            fnmatchcase(name, pattern)
            for pattern in (self.glob, self.glob.removeprefix("**/"))
        )

    def metadata(self) -> dict[str, Value]:
        return self.model_dump(include=set(METADATA), exclude_none=True)


CONNECTORS: Registry[Connector] = Registry(
    "kind of source",
    {
        "folder": "chatbot.extras.sources.connectors.folder",
        "pages": "chatbot.extras.sources.connectors.web:PagesConnector",
        "s3": "chatbot.extras.sources.connectors.s3",
        "sitemap": "chatbot.extras.sources.connectors.web:SitemapConnector",
    },
    group="connectors",
)


def read_sources(
    path: Path, check: Callable[[Overrides], object]
) -> Mapping[str, Connector]:
    """Return the sources of a file by name. ``check`` raises InvalidRequestError for
    metadata that no report can have. Raises SettingsError: the file cannot be read, or
    a table is wrong; the message lists what is valid.
    """

    def read(stated: dict[str, Any]) -> Connector:
        kind = cast("type[Connector]", CONNECTORS.builder(str(stated.get("kind", ""))))
        connector = parse(kind, stated)
        check(
            parse(
                Overrides,
                connector.model_dump(
                    include=set(Overrides.model_fields), exclude_defaults=True
                ),
            )
        )
        return connector

    keys = f"a kind: {', '.join(CONNECTORS.names())}"
    guide = " See docs/extras/sources.md."
    return read_tables("SOURCES", path, read, noun="source", keys=keys, guide=guide)

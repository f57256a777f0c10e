"""Collections of other programs, read as they are: their rows come out with our names, and nothing is ever written.

The names are those of langchain-mongodb 0.12 (vectorstores.py, `MongoDBAtlasVectorSearch.__init__`),
llama-index-vector-stores-mongodb 0.11 (base.py, `MongoDBAtlasVectorSearch.__init__`, with llama-index-core 0.14's
vector_stores/utils.py, `node_to_metadata_dict`) and mongodb-atlas-haystack 5.0 (document_store.py,
`_haystack_doc_to_mongo_doc`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..domain import SECTION_SEPARATOR
from .core import Json
from .rows import EMBEDDING_FIELD, OLDER_PREFIX, TEXT_FIELD, document_name_of, page_of, text_value

IDENTITIES = ("file_path", "source", "url", "file_name", "filename", "ref_doc_id", "source_id", "doc_id")
"""Metadata that rows of one report share, the best first: readers of PDF files make a document of each page."""
ALIASES = {
    "country_name": ("country_name", "country"),
    "document_name": ("document_name", "file_name", "filename", "source", "file_path", "url"),
    "document_page_number": ("page", "page_number", "page_label"),
    "report_title": ("report_title", "title"),
    "document_title": ("section", "heading"),
    "ordinal": ("ordinal", "split_id", "chunk_index"),
    "start": ("start_index", "split_idx_start"),
}
HEADERS = tuple(f"Header {level}" for level in range(1, 7))
"""Of langchain-text-splitters' `MarkdownHeaderTextSplitter`, as its documentation names them."""
OUR_NAMES = {
    "text": TEXT_FIELD,
    "embedding": EMBEDDING_FIELD,
    "title": "report_title",
    "section": "document_title",
    "page": "document_page_number",
}
"""Names of a map of paths, and our fields; the others are those of the fields themselves."""
STATED = ("document_name", "document_page_number")
"""Fields that are read of other metadata where no path is named."""
READ = ("report_title", "document_title", "ordinal", "start", "url", "country_name", "year")
"""Fields that are read besides those of scopes."""
SAMPLED = 50
"""Rows that say which of several paths a collection uses, and the types of its values."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where rows keep what ours have. ``paths``: those that a person has named, by our field."""

    text: str = TEXT_FIELD
    embedding: str = EMBEDDING_FIELD
    metadata: str = ""
    """Path of the object with the metadata, "" = the row itself."""
    paths: Mapping[str, str] = field(default_factory=dict)

    def with_paths(self, pairs: Iterable[tuple[str, str]]) -> Layout:
        """Return the layout with the paths of a map, by the names that people write."""
        paths = {OUR_NAMES.get(name, name): path for name, path in pairs}
        text, embedding = paths.pop(TEXT_FIELD, self.text), paths.pop(EMBEDDING_FIELD, self.embedding)
        return replace(self, text=text, embedding=embedding, paths={**self.paths, **paths})

    def about(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metadata of a row."""
        about = value_at(row, self.metadata) if self.metadata else row
        return about if isinstance(about, Mapping) else {}

    def candidates(self, name: str) -> list[str]:
        """Return the paths that may hold one of our fields, the most likely first."""
        if name in (TEXT_FIELD, EMBEDDING_FIELD):
            return [self.text if name == TEXT_FIELD else self.embedding]
        if name in self.paths:
            return [self.paths[name]]
        return [self.inside(alias) for alias in ALIASES.get(name, (name,))]

    def inside(self, name: str) -> str:
        """Return the path of a metadata field."""
        return f"{self.metadata}.{name}" if self.metadata else name

    def identity(self, row: Mapping[str, Any]) -> tuple[str, Any] | None:
        """Return the path and the value that all rows of the row's report share; None = it states none."""
        named = [self.paths["document_id"]] if "document_id" in self.paths else []
        for path in (*named, *map(self.inside, IDENTITIES)):
            if (value := value_at(row, path)) not in (None, "", "None") and not isinstance(value, (Mapping, list)):
                return path, value
        return None

    def read(self, row: Mapping[str, Any], fields: Iterable[str]) -> Json:
        """Return a row with our names. ``fields``: metadata that scopes filter."""
        about = self.about(row)
        ours: Json = {name: self.first(row, name) for name in dict.fromkeys((*fields, *READ))}
        headers = [text for name in HEADERS if (text := text_value(about.get(name)))]
        stated = {name: value_at(row, self.paths[name]) for name in STATED if name in self.paths}
        return {
            **{name: value for name, value in row.items() if name in ("_id", "score", "details")},
            **{name: value for name, value in ours.items() if value is not None},
            TEXT_FIELD: value_at(row, self.text),
            EMBEDDING_FIELD: value_at(row, self.embedding),
            "document_id": self.document_id(row),
            "document_name": document_name_of({**about, **stated}),
            "document_title": ours["document_title"] or SECTION_SEPARATOR.join(headers),
            "document_page_number": page_of({**about, **stated}),
        }

    def first(self, row: Mapping[str, Any], name: str) -> Any:
        """Return the row's value of one of our fields, None = it has none."""
        values = (value_at(row, path) for path in self.candidates(name))
        return next((value for value in values if value is not None), None)

    def document_id(self, row: Mapping[str, Any]) -> str:
        """Return the id of the row's report."""
        identity = self.identity(row)
        key = repr(identity[1]) if identity else repr([self.first(row, name) for name in ("country_name", "year")])
        return OLDER_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]

    def condition(self, row: Mapping[str, Any]) -> Json:
        """Return the filter for all rows of the row's report."""
        if identity := self.identity(row):
            return {identity[0]: identity[1]}
        without = dict.fromkeys(map(self.inside, IDENTITIES))
        return {**without, **{self.candidates(name)[0]: self.first(row, name) for name in ("country_name", "year")}}


LAYOUTS = {
    "llamaindex": Layout("text", "embedding", "metadata"),
    "haystack": Layout("content", "embedding", "meta"),
    "langchain": Layout("text", "embedding"),
}


def read_layout(schema: Sequence[str]) -> Layout:
    """Return the layout of a name, of ``field=path`` pairs, or of both; see `settings_types.check_schema`."""
    layout = next((LAYOUTS[part] for part in schema if part in LAYOUTS), Layout())
    pairs = (part.partition("=") for part in schema if "=" in part)
    return layout.with_paths((name.strip(), path.strip()) for name, _, path in pairs)


def guess_layout(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the layout that these rows seem to have; "" = none that is known."""
    fitting = (name for row in rows for name, one in LAYOUTS.items() if one.text in row and one.about(row))
    return next(fitting, "")


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path; None = there is none."""
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value

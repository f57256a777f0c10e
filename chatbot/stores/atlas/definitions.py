"""The definitions of the search indexes, and whether a server's index has the definition it should have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ...config.settings import Settings
from ...database.core import Json
from ...database.rows import TEXT_FIELD, embedding_field

TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""The fields of the keyword search: it finds a passage by its report and heading too."""
VECTOR_INDEX, TEXT_INDEX = "vector_index", "text_index"
"""Their names. One vector index holds both slots of vectors: a free cluster has room for three indexes in all."""
LEFT_OVER = {f"{VECTOR_INDEX}_b"}
"""Names of indexes that only earlier releases used."""
FOLLOWED_BY = "document_id"
"""The field by which the store asks how much of a document the engine has indexed; declared in every index."""
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """A search index with the ``definition`` it should have.

    ``dropped``: paths to remove from it; others that it has besides stay.
    """

    collection: str
    index: str
    kind: Literal["vectorSearch", "search"]
    definition: Json
    dropped: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The index and its collection, for messages."""
        return f"search index {self.index!r} of {self.collection!r}"

    @property
    def optional(self) -> bool:
        """Whether it may be left out where the tier has no room for it."""
        return self.kind == "search"


def vector_index_definition(
    dimensions: Mapping[str, int],
    filter_fields: Iterable[str],
    quantization: Quantization = "none",
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Json:
    """Return the `vectorSearch` index: cosine over the embeddings, and every field that a scope may name.

    ``dimensions`` by slot: two while the embedding model changes. Quantisation is advised above 100,000 vectors:
    scalar takes a quarter of the memory, binary a twenty-fourth. ``options``: see `Settings.index_options`.
    """
    of_index = {name: value for name, value in options.items() if name != "hnswOptions"}
    of_field = {name: value for name, value in options.items() if name == "hnswOptions"}
    shared: Json = {"similarity": "cosine", "quantization": quantization, **of_field}
    vectors: list[Json] = [
        {"type": "vector", "path": embedding_field(slot), "numDimensions": size, **shared}
        for slot, size in dimensions.items()
    ]
    filters = [{"type": "filter", "path": name} for name in dict.fromkeys((*filter_fields, FOLLOWED_BY))]
    return {"fields": [*vectors, *filters], **of_index}


def text_index_definition(filter_fields: Iterable[str], language: str) -> Json:
    """Return the `search` index: texts stemmed for the language, filter fields as exact strings and numbers."""
    fields: Json = {path: {"type": "string", "analyzer": f"lucene.{language}"} for path in TEXT_PATHS}
    fields |= {name: [{"type": "token"}, {"type": "number"}] for name in filter_fields}
    return {"mappings": {"dynamic": False, "fields": {**fields, FOLLOWED_BY: {"type": "token"}}}}


def index_plans(
    settings: Settings, dimensions: Mapping[str, int], *, dropped: Iterable[str] = ()
) -> list[SearchTarget]:
    """Return a vector and a text index for each collection of passages, the most needed first.

    ``dimensions`` of the vectors by slot; ``dropped``: the slots to remove. The general collection is the first, that
    of the reports the second. Text indexes are optional, the general one's is last: the free tier has room for three.
    """
    names, fields = list(dict.fromkeys(settings.chunk_collections)), settings.filter_fields
    options = json.loads(settings.index_options or "{}")
    vector = vector_index_definition(dimensions, fields, settings.quantization, options)
    text = text_index_definition(fields, settings.language)
    gone = tuple(map(embedding_field, dropped))
    return [
        *(SearchTarget(name, VECTOR_INDEX, "vectorSearch", vector, gone) for name in names),
        *(SearchTarget(name, TEXT_INDEX, "search", text) for name in dict.fromkeys((*names[1:], names[0]))),
    ]


def fits_definition(stored: Mapping[str, Any], target: SearchTarget) -> bool:
    """Return whether the server's definition has everything it should have, and none of what is to be dropped.

    Servers add defaults, operators add fields.
    """
    planned = target.definition
    if "fields" in planned:
        by_path = {field.get("path"): field for field in stored.get("fields", [])}
        return (
            all(_covers(by_path.get(field["path"], {}), field) for field in planned["fields"])
            and all(stored.get(name) == value for name, value in planned.items() if name != "fields")
            and by_path.keys().isdisjoint(target.dropped)
        )
    fields = stored.get("mappings", {}).get("fields", {})
    return all(_same_mapping(fields.get(path), mapping) for path, mapping in planned["mappings"]["fields"].items())


def keep_extras(target: SearchTarget, stored: Mapping[str, Any]) -> Json:
    """Return the planned definition with all that an operator declared besides, which an update must not remove.

    That is other fields, `storedSource`, `numPartitions`, analyzers, and what a field has beyond its plan
    (`hnswOptions`, another mapping beside ours).
    """
    planned = target.definition
    if "fields" in planned:
        by_path = {field["path"]: field for field in stored.get("fields", []) if field["path"] not in target.dropped}
        ours = {}
        for field in planned["fields"]:
            old = by_path.get(field["path"], {})
            ours[field["path"]] = {**(old if old.get("type") == field["type"] else {}), **field}
        return {**stored, **planned, "fields": list({**ours, **by_path, **ours}.values())}
    mappings = stored.get("mappings", {})
    fields = mappings.get("fields", {})
    needed = {
        path: fields[path] if _same_mapping(fields.get(path), mapping) else mapping
        for path, mapping in planned["mappings"]["fields"].items()
    }
    return {**stored, "mappings": {**mappings, "fields": {**fields, **needed}}}


def _covers(stored: Mapping[str, Any], planned: Mapping[str, Any]) -> bool:
    """A server leaves the default out of its description."""
    full = {"quantization": "none", **stored}
    return all(full.get(name) == value for name, value in {"quantization": "none", **planned}.items())


def _same_mapping(stored: Any, planned: Any) -> bool:
    mappings = stored if isinstance(stored, list) else [stored or {}]
    return all(
        any(need.items() <= mapping.items() for mapping in mappings)
        for need in (planned if isinstance(planned, list) else [planned])
    )

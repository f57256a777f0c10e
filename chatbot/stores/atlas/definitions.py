"""How the search indexes should be: definitions, and whether a server's index is that one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ...database.core import Json
from ...database.rows import TEXT_FIELD, embedding_field
from ...settings import Settings

TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""What the keyword search reads: a passage is found by its report and heading too."""
VECTOR_INDEX, TEXT_INDEX = "vector_index", "text_index"
"""Their names; both slots of vectors are in the one vector index: a free cluster has room for three in all."""
LEFT_OVER = {f"{VECTOR_INDEX}_b"}
"""Names that earlier releases gave."""
FOLLOWED_BY = "document_id"
"""The field by which the store asks what of a document the engine has followed; declared in every index."""
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """A search index: enough to make it, and to say what is wrong with it. ``definition`` is how it should be.

    ``dropped``: paths that are not to be in it any more; others that it has besides stay.
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
    """The `vectorSearch` index: cosine over the embeddings, and every field that a scope may name.

    ``dimensions`` by slot: two while the embedding model changes. Quantisation is advised above 100,000 vectors:
    scalar takes a quarter of the memory, binary a twenty-fourth. ``options``: see `Settings.index_options`.
    """
    more = dict(options)
    hnsw = {"hnswOptions": more.pop("hnswOptions")} if "hnswOptions" in more else {}
    shared: Json = {"similarity": "cosine", "quantization": quantization, **hnsw}
    vectors: list[Json] = [
        {"type": "vector", "path": embedding_field(slot), "numDimensions": size, **shared}
        for slot, size in dimensions.items()
    ]
    filters = [{"type": "filter", "path": name} for name in dict.fromkeys((*filter_fields, FOLLOWED_BY))]
    return {"fields": [*vectors, *filters], **more}


def text_index_definition(filter_fields: Iterable[str], language: str) -> Json:
    """The `search` index: the texts stemmed for the language, the filter fields as exact strings and numbers."""
    fields: Json = {path: {"type": "string", "analyzer": f"lucene.{language}"} for path in TEXT_PATHS}
    fields |= {name: [{"type": "token"}, {"type": "number"}] for name in filter_fields}
    return {"mappings": {"dynamic": False, "fields": {**fields, FOLLOWED_BY: {"type": "token"}}}}


def index_plans(
    settings: Settings, dimensions: Mapping[str, int], *, dropped: Iterable[str] = ()
) -> list[SearchTarget]:
    """A vector and a text index for each collection of passages, the most needed first.

    ``dimensions`` of the vectors by slot; ``dropped``: the slots that are to go. The collections start with the general
    one and that of the reports. The text indexes are optional, the general one's comes last: the free tier allows
    three search indexes.
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


def fits_definition(found: Mapping[str, Any], target: SearchTarget) -> bool:
    """True when the server's definition has everything that is wanted, and nothing that is to be dropped; servers
    add defaults, operators add fields."""
    wanted = target.definition
    if "fields" in wanted:
        existing = {field.get("path"): field for field in found.get("fields", [])}
        fits = all(_covers(existing.get(field["path"], {}), field) for field in wanted["fields"])
        same = all(found.get(name) == value for name, value in wanted.items() if name != "fields")
        return fits and same and existing.keys().isdisjoint(target.dropped)
    fields = found.get("mappings", {}).get("fields", {})
    return all(_same_mapping(fields.get(path), mapping) for path, mapping in wanted["mappings"]["fields"].items())


def keep_extras(target: SearchTarget, found: Mapping[str, Any]) -> Json:
    """What is wanted, and all that an operator declared besides: an update must not take that away.

    That is fields of their own, `storedSource`, `numPartitions`, analyzers, and what a field has beyond what is wanted
    of it (`hnswOptions`, another mapping beside ours).
    """
    wanted = target.definition
    if "fields" in wanted:
        existing = {
            field.get("path"): field for field in found.get("fields", []) if field["path"] not in target.dropped
        }
        own = {field["path"]: {**_same_kind(existing.get(field["path"]), field), **field} for field in wanted["fields"]}
        return {**found, **wanted, "fields": list({**own, **existing, **own}.values())}
    mappings = found.get("mappings", {})
    fields = mappings.get("fields", {})
    needed = {
        path: fields[path] if _same_mapping(fields.get(path), mapping) else mapping
        for path, mapping in wanted["mappings"]["fields"].items()
    }
    return {**found, "mappings": {**mappings, "fields": {**fields, **needed}}}


def _same_kind(found: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    return found if found is not None and found.get("type") == wanted["type"] else {}


def _covers(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """A server leaves the default out of its description."""
    full = {"quantization": "none", **found}
    return all(full.get(name) == value for name, value in {"quantization": "none", **wanted}.items())


def _same_mapping(found: Any, wanted: Any) -> bool:
    existing = found if isinstance(found, list) else [found or {}]
    needed = wanted if isinstance(wanted, list) else [wanted]
    return all(
        any(all(have.get(name) == value for name, value in need.items()) for have in existing) for need in needed
    )

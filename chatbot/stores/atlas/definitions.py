"""How the search indexes should be: definitions, and whether a server's index is that one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...database.core import Json
from ...database.rows import EMBEDDING_FIELD, TEXT_FIELD, embedding_field
from ...settings import Settings

TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""What the keyword search reads: a passage is found by its report and heading too."""
VECTOR_INDEX, TEXT_INDEX = "vector_index", "text_index"
"""Their usual names; each slot of vectors has an index of its own, with the slot's name appended."""
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """What was searched: enough to say what is wrong with it. ``definition`` is how the index should be."""

    collection: str
    index: str
    kind: Literal["vectorSearch", "search"]
    definition: Json

    @property
    def described(self) -> str:
        """For messages: the index and its collection."""
        return f"search index {self.index!r} of {self.collection!r}"


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A search index that should exist. An ``optional`` one may be left out where the tier has no room for it."""

    target: SearchTarget
    optional: bool = False


def vector_index_definition(
    dimensions: int, filter_fields: Iterable[str], quantization: Quantization = "none", path: str = EMBEDDING_FIELD
) -> Json:
    """The `vectorSearch` index: cosine over the embedding, and every field that a scope may name.

    Quantisation is advised above 100,000 vectors: scalar takes a quarter of the memory, binary a twenty-fourth.
    """
    vector: Json = {
        "type": "vector",
        "path": path,
        "numDimensions": dimensions,
        "similarity": "cosine",
        "quantization": quantization,
    }
    return {"fields": [vector, *({"type": "filter", "path": name} for name in filter_fields)]}


def text_index_definition(filter_fields: Iterable[str], language: str) -> Json:
    """The `search` index: the texts stemmed for the language, the filter fields as exact strings and numbers."""
    fields: Json = {path: {"type": "string", "analyzer": f"lucene.{language}"} for path in TEXT_PATHS}
    fields |= {name: [{"type": "token"}, {"type": "number"}] for name in filter_fields}
    return {"mappings": {"dynamic": False, "fields": fields}}


def index_plans(settings: Settings, dimensions: int, slot: str = "") -> list[IndexPlan]:
    """A vector and a text index for each collection of passages, the most needed first, for the vectors in ``slot``.

    The collections start with the general one and that of the reports. A text index is optional but for the reports:
    the free tier allows three search indexes. The general one's comes last.
    """
    names, fields = list(dict.fromkeys(settings.chunk_collections)), settings.filter_fields
    vector = vector_index_definition(dimensions, fields, settings.quantization, embedding_field(slot))
    text = text_index_definition(fields, settings.language)
    return [
        *(IndexPlan(SearchTarget(name, f"{VECTOR_INDEX}{slot}", "vectorSearch", vector)) for name in names),
        *(
            IndexPlan(SearchTarget(name, TEXT_INDEX, "search", text), optional=place > 0)
            for place, name in enumerate((*names[1:], names[0]))
        ),
    ]


def fits_definition(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True when the server's definition has everything that is wanted; servers add defaults, operators add fields."""
    if "fields" in wanted:
        existing = {field.get("path"): field for field in found.get("fields", [])}
        return all(_covers(existing.get(field["path"], {}), field) for field in wanted["fields"])
    fields = found.get("mappings", {}).get("fields", {})
    return all(_same_mapping(fields.get(path), mapping) for path, mapping in wanted["mappings"]["fields"].items())


def keep_extras(wanted: Json, found: Mapping[str, Any]) -> Json:
    """``wanted`` and the fields that an operator declared besides: an update must not take those away."""
    if "fields" in wanted:
        paths = {field["path"] for field in wanted["fields"]}
        extras = [field for field in found.get("fields", []) if field.get("path") not in paths]
        return {**wanted, "fields": [*wanted["fields"], *(field for field in extras if field.get("type") == "filter")]}
    mappings = found.get("mappings", {})
    return {
        **wanted,
        "mappings": {**mappings, "fields": {**mappings.get("fields", {}), **wanted["mappings"]["fields"]}},
    }


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

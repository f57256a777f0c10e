"""How the search indexes should be: definitions, and whether a server's index is that one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..database import Json
from .atlas_errors import SearchTarget
from .atlas_pipelines import TEXT_PATHS
from .chunks import EMBEDDING_FIELD

Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A search index that should exist. An ``optional`` one may be left out where the tier has no room for it."""

    target: SearchTarget
    optional: bool = False


def vector_index_definition(
    dimensions: int,
    filter_fields: Iterable[str],
    quantization: Quantization = "none",
    embedding_field: str = EMBEDDING_FIELD,
) -> Json:
    """The `vectorSearch` index: cosine over the embedding, and every field that a scope may name.

    Quantisation is advised above 100,000 vectors: scalar takes a quarter of the memory, binary a twenty-fourth.
    """
    vector: Json = {
        "type": "vector",
        "path": embedding_field,
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


def vector_index_name(embedding_field: str) -> str:
    """The usual name of the vector index over a field: each slot of vectors has its own."""
    return f"vector_index{embedding_field.removeprefix(EMBEDDING_FIELD)}"


def plan_indexes(
    *,
    collections: Sequence[str],
    filter_fields: Iterable[str],
    dimensions: int,
    language: str,
    quantization: Quantization = "none",
    embedding_field: str = EMBEDDING_FIELD,
    index_name: str | None = None,
    text_index_name: str = "text_index",
) -> list[IndexPlan]:
    """A vector and a text index for each collection, the most needed first.

    ``collections`` starts with the general one and that of the reports. A text index is optional but for the reports:
    the free tier allows three search indexes. The general one's comes last.
    """
    names, fields = list(dict.fromkeys(collections)), tuple(filter_fields)
    vector = vector_index_definition(dimensions, fields, quantization, embedding_field)
    vector_name = index_name or vector_index_name(embedding_field)
    text = text_index_definition(fields, language)
    return [
        *(IndexPlan(SearchTarget(name, vector_name, "vectorSearch", vector)) for name in names),
        *(
            IndexPlan(SearchTarget(name, text_index_name, "search", text), optional=place > 0)
            for place, name in enumerate((*names[1:], names[0]))
        ),
    ]


def as_wanted(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True when the server's definition has everything that is wanted; servers add defaults, operators add fields."""
    if "fields" in wanted:
        existing = {field.get("path"): field for field in found.get("fields", [])}
        return all(_covers(existing.get(field["path"], {}), _with_defaults(field)) for field in wanted["fields"])
    fields = found.get("mappings", {}).get("fields", {})
    return all(_same_mapping(fields.get(path), mapping) for path, mapping in wanted["mappings"]["fields"].items())


def keeping_extras(wanted: Json, found: Mapping[str, Any]) -> Json:
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


def _with_defaults(field: Mapping[str, Any]) -> Json:
    """Without what a server leaves out of the description because it is the default."""
    return {name: value for name, value in field.items() if (name, value) != ("quantization", "none")}


def _covers(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    if "quantization" not in wanted and found.get("quantization", "none") != "none":
        return False
    return all(found.get(name) == value for name, value in wanted.items())


def _same_mapping(found: Any, wanted: Any) -> bool:
    existing = found if isinstance(found, list) else [found or {}]
    needed = wanted if isinstance(wanted, list) else [wanted]
    return all(
        any(all(have.get(name) == value for name, value in need.items()) for have in existing) for need in needed
    )

"""JSON out and in: that of the domain's classes (`to_json`), and requests checked against pydantic models (`parse`).

The API answers with these classes and the OpenAPI document describes them, so that no other type repeats their fields.
Storage and caches keep every field instead (`dataclasses.asdict`)."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_args

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from .errors import InvalidRequestError

T = TypeVar("T")
Hidden = Annotated[T, Field(exclude=True)]
"""A field that the API does not show."""
INLINE = "x-inline"
"""Marks the fields of a JSON schema whose own fields stand in their place (`inlined`)."""
NO_OBJECT = "The body must be a JSON object, sent as application/json."
HALF = "half a character (a lone surrogate); send whole ones."
MAX_PROBLEMS = 100
"""Problems named for one body: each lists all valid fields, so a megabyte of wrong ones would give fifty."""
IDENTIFIER, ADDRESS, NOT_BLANK = r"^[A-Za-z0-9_-]{1,64}$", r"^https?://", r"\S"
POSITION = r"^[0-9]{1,9}$"
Model = TypeVar("Model", bound=BaseModel)
_SEPARATORS = re.compile(r", | or ")
"""Between the values of a literal in pydantic's message: "'up', 'down' or 'none'"."""
KINDS: Mapping[str, str] = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number",
    "int_parsing": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "dict_type": "an object", "mapping_type": "an object",
    "model_type": "an object",
}  # fmt: skip
"""Requirements on a value, by pydantic's name of the error."""
PROBLEMS: Mapping[str, str] = {
    "missing": "is required.", "string_too_long": "must have at most {max_length} characters.",
    "string_too_short": "must not be empty.", "too_long": "must have at most {max_length} entries.",
    "too_short": "must not be empty.", "greater_than_equal": "must be {ge} or more.",
    "less_than_equal": "must be {le} or less.", "string_unicode": f"holds {HALF}",
}  # fmt: skip
"""Messages of other errors; every minimum length is one."""
PATTERNS = {
    IDENTIFIER: "must be 1 to 64 letters, digits, _ or -.", ADDRESS: "must be an address, http(s).",
    NOT_BLANK: "must not be empty.", POSITION: "send the `next` of the previous page.",
}  # fmt: skip


class Inlines:
    """Base of a dataclass whose JSON has the fields of some of its fields in their place; its own fields win."""

    __slots__ = ()
    INLINED: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def write(value: Any, write_fields: Any) -> Any:
            data = write_fields(value)
            for name in cls.INLINED:
                data = {**data.pop(name), **data}
            return data

        schema: Any = handler(source)
        schema["serialization"] = core_schema.wrap_serializer_function_ser_schema(write)
        return cast("CoreSchema", schema)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        reference = handler(schema)
        handler.resolve_ref_schema(reference).update({INLINE: list(cls.INLINED)})
        return reference


def inlined(schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schemas by name, with the fields of `Inlines` in their place."""

    def whole(schema: dict[str, Any]) -> dict[str, Any]:
        properties, required = dict(schema.get("properties", {})), list(schema.get("required", []))
        for name in schema.get(INLINE, ()):
            inner = whole(schemas[properties.pop(name)["$ref"].rpartition("/")[2]])
            properties = {**inner["properties"], **properties}
            required = list(dict.fromkeys([*inner["required"], *(one for one in required if one != name)]))
        changed = {"properties": properties, "required": required} if INLINE in schema else {}
        return {key: value for key, value in {**schema, **changed}.items() if key != INLINE}

    return {name: whole(schema) for name, schema in schemas.items()}


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(value: Any, type_: Any = None) -> Any:
    """Return the JSON of a value of the domain, as ``type_`` or its own class describes it."""
    return _adapter(type(value) if type_ is None else type_).dump_python(value, mode="json", by_alias=True)


def parse(model: type[Model], body: Any) -> Model:
    """Return what was sent as an instance of ``model``. Raises InvalidRequestError: it is no object, holds half a
    character, or has wrong fields: ``details`` have one entry for each of these."""
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        parsed = model.model_validate(dict(body))
    except ValidationError as error:
        by_field: dict[str, list[dict[str, Any]]] = {}
        for problem in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]:
            detail = _detail(model, problem)
            by_field.setdefault(detail["field"], []).append(detail)
        details = []
        for alternatives in by_field.values():  # one entry for a field: all kinds that it may have, else the last one
            kinds = list(dict.fromkeys(detail.pop("kind", "") for detail in alternatives))
            if all(kinds):
                kinds = [kind for kind in kinds if kind != "a whole number" or "a number" not in kinds]
                alternatives[-1]["message"] = f"must be {' or '.join(kinds)}."
            details.append(alternatives[-1])
        summary = "; ".join(f"{detail['field']}: {detail['message']}" for detail in details)
        raise InvalidRequestError(summary, details=details) from None
    try:
        json.dumps(body, ensure_ascii=False).encode()  # pydantic checks some fields only
    except UnicodeEncodeError:
        raise InvalidRequestError(f"The body holds {HALF}") from None
    return parsed


def _detail(model: type[BaseModel], problem: Any) -> dict[str, Any]:
    # Positions inside a union name its branches ("list[...]"): not the client's business.
    path = [str(part) for part in problem["loc"] if not any(mark in str(part) for mark in "[(")]
    path = [part for part in path if part not in {"str", "int", "float", "dict"}]
    field, kind, about = ".".join(path), problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        for name in path[:-1]:
            if name in model.model_fields:
                model = next(_models_in(model.model_fields[name].annotation), model)
        valid = sorted(model.model_fields)
        listed = f" Valid: {', '.join(valid)}." if valid else ""
        return {"field": field, "message": f"unknown field.{listed}", "valid_values": valid}
    if path[:1] == ["filters"] and len(path) > 1:
        return {"field": ".".join(path[:2]), "message": "must be a value, a list of values or a range {gte, lte}."}
    if kind in KINDS:
        return {"field": field, "message": f"must be {KINDS[kind]}.", "kind": KINDS[kind]}
    if kind == "literal_error":
        values = [literal_eval(value) for value in _SEPARATORS.split(about["expected"])]
        listed = ", ".join(value if isinstance(value, str) else json.dumps(value) for value in values)
        return {"field": field, "message": f"unknown. Valid: {listed}.", "valid_values": values}
    if kind == "string_pattern_mismatch":
        return {"field": field, "message": PATTERNS[about["pattern"]]}
    return {"field": field, "message": PROBLEMS[kind].format(**about) if kind in PROBLEMS else str(problem["msg"])}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)

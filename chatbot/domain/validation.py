"""Check the body of a request against a pydantic model."""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from .errors import InvalidRequestError

Model = TypeVar("Model", bound=BaseModel)
NO_OBJECT = "The body must be a JSON object, sent as application/json."
HALF = "half a character (a lone surrogate); send whole ones."
MAX_PROBLEMS = 100
"""Problems named for one body: each lists all valid fields, so a megabyte of wrong ones
would give fifty.
"""
IDENTIFIER, ADDRESS, NOT_BLANK = r"^[A-Za-z0-9_-]{1,64}$", r"^https?://", r"\S"
WHOLE_ADDRESS = r"^https?://[^\s/][^\s]*$"
CLIENT_ID = r"^[A-Za-z0-9._:-]{1,100}$"
"""An id that a client makes itself, such as the `chatId` of seed 003's front end."""
POSITION = r"^[0-9]{1,9}$"
SORTING = "^-?(title|country_name|year|type|pages|chunks|status|updated_at)$"
FILE_ID = r"^file_[0-9a-f]{32}$"
_SEPARATORS = re.compile(r", | or ")
"""Between the values of a literal in pydantic's message: "'up', 'down' or 'none'"."""
KINDS: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
}
"""Requirements on a value, by pydantic's name of the error."""
PROBLEMS: Mapping[str, str] = {
    "missing": "is required.",
    "string_too_long": "must have at most {max_length} characters.",
    "string_too_short": "must not be empty.",
    "too_long": "must have at most {max_length} entries.",
    "too_short": "must not be empty.",
    "greater_than_equal": "must be {ge} or more.",
    "less_than_equal": "must be {le} or less.",
    "string_unicode": f"holds {HALF}",
}
"""Messages of other errors; every minimum length is one."""
PATTERNS = {
    IDENTIFIER: "must be 1 to 64 letters, digits, _ or -.",
    CLIENT_ID: "must be 1 to 100 letters, digits, or one of . _ : -.",
    ADDRESS: "must be an address, http(s).",
    WHOLE_ADDRESS: "must be an address, http(s), without spaces.",
    NOT_BLANK: "must not be empty.",
    POSITION: "send the `next` of the previous page.",
    SORTING: "must be title, country_name, year, type, pages, chunks, status or "
    'updated_at, with "-" before it for the other way round.',
    FILE_ID: "send the id that POST /api/files returned.",
}


def parse(model: type[Model], body: Any) -> Model:
    """Return what was sent as an instance of ``model``. Raises InvalidRequestError: it
    is no object, holds half a character, or has wrong fields: ``details`` have one
    entry for each of these.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        parsed = model.model_validate(dict(body))
    except ValidationError as error:
        by_field: dict[str, list[dict[str, Any]]] = {}
        for problem in error.errors(include_url=False, include_input=False)[
            :MAX_PROBLEMS
        ]:
            detail = _detail(model, problem)
            by_field.setdefault(detail["field"], []).append(detail)
        details = []
        for alternatives in (
            by_field.values()
        ):  # one entry for a field: all kinds that it may have, else the last one
            kinds = list(
                dict.fromkeys(detail.pop("kind", "") for detail in alternatives)
            )
            if all(kinds):
                kinds = [
                    kind
                    for kind in kinds
                    if kind != "a whole number" or "a number" not in kinds
                ]
                alternatives[-1]["message"] = f"must be {' or '.join(kinds)}."
            details.append(alternatives[-1])
        summary = "; ".join(
            f"{detail['field']}: {detail['message']}" for detail in details
        )
        raise InvalidRequestError(summary, details=details) from None
    try:
        dumps(body, ensure_ascii=False).encode()  # pydantic checks some fields only
    except UnicodeEncodeError:
        raise InvalidRequestError(f"The body holds {HALF}") from None
    return parsed


def _detail(model: type[BaseModel], problem: Any) -> dict[str, Any]:
    # Positions inside a union name its branches ("list[...]"): not the client's
    # business.
    path = [
        str(part)
        for part in problem["loc"]
        if not any(mark in str(part) for mark in "[(")
    ]
    path = [part for part in path if part not in {"str", "int", "float", "dict"}]
    place, kind, about = ".".join(path), problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return {"field": place, **_unknown_field(model, path)}
    if path[:1] == ["filters"] and len(path) > 1:
        return {
            "field": ".".join(path[:2]),
            "message": "must be a value, a list of values or a range {gte, lte}.",
        }
    if kind in KINDS:
        return {
            "field": place,
            "message": f"must be {KINDS[kind]}.",
            "kind": KINDS[kind],
        }
    if kind == "literal_error":
        return {"field": place, **_unknown_value(about["expected"])}
    if kind == "string_pattern_mismatch":
        return {"field": place, "message": PATTERNS[about["pattern"]]}
    message = str(problem["msg"])
    if kind in PROBLEMS:
        message = PROBLEMS[kind].format(**about)
    return {"field": place, "message": message}


def _unknown_field(model: type[BaseModel], path: Sequence[str]) -> dict[str, Any]:
    """Return the message that lists the fields of the model at this path."""
    for name in path[:-1]:
        if name in model.model_fields:
            model = next(_models_in(model.model_fields[name].annotation), model)
    valid = sorted(field.alias or name for name, field in model.model_fields.items())
    listed = f" Valid: {', '.join(valid)}." if valid else ""
    return {"message": f"unknown field.{listed}", "valid_values": valid}


def _unknown_value(expected: str) -> dict[str, Any]:
    """Return the message that lists the values that pydantic expects."""
    values = [literal_eval(value) for value in _SEPARATORS.split(expected)]
    shown = [value if isinstance(value, str) else dumps(value) for value in values]
    return {
        "message": f"unknown. Valid: {', '.join(shown)}.",
        "valid_values": values,
    }


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)

"""Checks input against a pydantic model, and names each wrong field in this product's own words."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from .errors import InvalidRequestError

NO_OBJECT = "The body must be a JSON object, sent as application/json."
HALF = "half a character (a lone surrogate); send whole ones."
MOST_PROBLEMS = 100
"""That are told of one body: each names all valid fields, so that a megabyte of wrong ones became fifty."""
IDENTIFIER, ADDRESS, NOT_BLANK = r"^[A-Za-z0-9_-]{1,64}$", r"^https?://", r"\S"
POSITION = r"^[0-9]{1,9}$"
Model = TypeVar("Model", bound=BaseModel)
_SEPARATORS = re.compile(r", | or ")
"""Between the values that pydantic says a literal may have: "'up', 'down' or 'none'"."""
KINDS: Mapping[str, str] = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number",
    "int_parsing": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "dict_type": "an object", "mapping_type": "an object",
    "model_type": "an object",
}  # fmt: skip
"""What a value has to be, by pydantic's name for that it is not."""
PROBLEMS: Mapping[str, str] = {
    "missing": "is required.", "string_too_long": "must have at most {max_length} characters.",
    "string_too_short": "must not be empty.", "too_long": "must have at most {max_length} entries.",
    "too_short": "must not be empty.", "greater_than_equal": "must be {ge} or more.",
    "less_than_equal": "must be {le} or less.", "string_unicode": f"holds {HALF}",
}  # fmt: skip
"""What else is wrong with it; of what is too short the least is one, everywhere."""
PATTERNS = {
    IDENTIFIER: "must be 1 to 64 letters, digits, _ or -.", ADDRESS: "must be an address, http(s).",
    NOT_BLANK: "must not be empty.", POSITION: "send the `next` of the previous page.",
}  # fmt: skip


def parse(model: type[Model], body: Any) -> Model:
    """What was sent, as an instance of ``model``.

    Raises:
        InvalidRequestError: it is no object, holds half a character, or fields of it are wrong: ``details`` have one
            entry for each of these.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        found = model.model_validate(dict(body))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
        details = [_detail(model, problem) for problem in problems]
        unique = list(map(_merged, _by_field(details).values()))
        summary = "; ".join(f"{detail['field']}: {detail['message']}" for detail in unique)
        raise InvalidRequestError(summary, details=unique) from None
    _require_whole(body)  # pydantic sees it in some fields only
    return found


def _require_whole(sent: Any) -> None:
    """Raises InvalidRequestError: there is half a character in it, which neither a model nor a database takes."""
    try:
        json.dumps(sent, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequestError(f"The body holds {HALF}") from None


def _by_field(details: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for detail in details:
        found.setdefault(detail["field"], []).append(detail)
    return found


def _merged(details: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One entry for a field: where a value may be of several kinds it names all of them; else the last entry."""
    kinds = list(dict.fromkeys(detail.pop("kind", "") for detail in details))
    if not all(kinds):
        return details[-1]
    if "a number" in kinds:
        kinds = [kind for kind in kinds if kind != "a whole number"]
    return {**details[-1], "message": f"must be {' or '.join(kinds)}."}


def _detail(model: type[BaseModel], problem: Any) -> dict[str, Any]:
    # Positions inside a union name its branches ("list[...]"): not the client's business.
    path = [str(part) for part in problem["loc"] if not any(mark in str(part) for mark in "[(")]
    path = [part for part in path if part not in {"str", "int", "float", "dict"}]
    field = ".".join(path)
    if problem["type"] == "extra_forbidden":
        valid = sorted(_inner(model, path).model_fields)
        listed = f" Valid: {', '.join(valid)}." if valid else ""
        return {"field": field, "message": f"unknown field.{listed}", "valid_values": valid}
    if path[:1] == ["filters"] and len(path) > 1:
        return {"field": ".".join(path[:2]), "message": "must be a value, a list of values or a range {gte, lte}."}
    if kind := KINDS.get(problem["type"]):
        return {"field": field, "message": f"must be {kind}.", "kind": kind}
    return {"field": field, **_said(problem)}


def _said(problem: Any) -> dict[str, Any]:
    """What pydantic found, as this API says it."""
    type, about = problem["type"], problem.get("ctx", {})
    if type == "literal_error":
        valid = [literal_eval(value) for value in _SEPARATORS.split(about["expected"])]
        listed = ", ".join(value if isinstance(value, str) else json.dumps(value) for value in valid)
        return {"message": f"unknown. Valid: {listed}.", "valid_values": valid}
    if type == "string_pattern_mismatch":
        return {"message": PATTERNS[about["pattern"]]}
    return {"message": PROBLEMS[type].format(**about) if type in PROBLEMS else str(problem["msg"])}


def _inner(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The model that the last name of ``path`` is, or would be, a field of."""
    for name in path[:-1]:
        if name in model.model_fields:
            model = next(_models_in(model.model_fields[name].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)

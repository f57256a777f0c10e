"""Request bodies: JSON read, and checked against a model, with an error for each wrong field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from flask import request
from pydantic import BaseModel, ValidationError

from ..errors import InvalidRequestError
from ..originals import WEB
from .payloads import INNER

MOST_URLS = 50
LONGEST_URL = 2000
NO_OBJECT = "The body must be a JSON object, sent as application/json."
Body = TypeVar("Body", bound=BaseModel)


def json_body() -> Any:
    """The current request's JSON; None where there is none, or it is nested too deeply to be read."""
    try:
        return request.get_json(silent=True)
    except RecursionError:
        return None


def json_object() -> dict[str, Any]:
    """The current request's JSON object, all of it text that can be stored. Raises InvalidRequestError."""
    body = json_body()
    if not isinstance(body, dict):
        raise InvalidRequestError(NO_OBJECT)
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequestError("The body holds half a character (a lone surrogate); send whole ones.") from None
    return body


def web_pages(url: Any, urls: Any) -> dict[str, str]:
    """The addresses of a request by the page they lead to: what follows a # is a place on it.

    Raises:
        InvalidRequestError: none, too many, one that is no address, or the same page twice.
    """
    if url is not None:
        urls = [url] if urls is None else None
    wrong = not isinstance(urls, list) or not 1 <= len(urls) <= MOST_URLS
    if wrong or not all(isinstance(each, str) and each.startswith(WEB) and len(each) <= LONGEST_URL for each in urls):
        message = f"send one address in `url` or up to {MOST_URLS} in `urls`, http(s)."
        raise InvalidRequestError.for_field("url", message)
    pages = {each.partition("#")[0]: each for each in urls}
    if len(pages) < len(urls):
        raise InvalidRequestError.for_field("urls", "the same page twice.")
    return pages


def parse(model: type[Body], body: Any) -> Body:
    """The body as ``model``.

    Raises:
        InvalidRequestError: with one entry per wrong field.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        return model.model_validate(dict(body))
    except ValidationError as error:
        details = [_detail(model, problem) for problem in error.errors(include_url=False, include_input=False)]
        unique = list({detail["field"]: detail for detail in details}.values())
        summary = "; ".join(f"{detail['field']}: {detail['message']}" for detail in unique)
        raise InvalidRequestError(summary, details=unique) from None


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
        return {"field": ".".join(path[:2]), "message": "must be a value, a list of values or a range {gte, lte}"}
    if problem["type"] == "model_type":
        return {"field": field, "message": "must be an object."}
    return {"field": field, "message": str(problem["msg"])}


def _inner(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The model that the last name of ``path`` is, or would be, a field of."""
    for name in path[:-1]:
        if name in model.model_fields:
            model = INNER[name]
    return model

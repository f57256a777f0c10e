"""What each view states with `@route`: who may call it, what it takes and what it answers.

Access control, rate limits, the audit log and the OpenAPI document (`openapi`) read it. A view without it stops the
start.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from flask import Flask, Response, current_app, jsonify, request
from pydantic import BaseModel

from ...database.core import Json
from ...database.repositories.caches import request_cache
from ...domain.access import Need
from ...domain.errors import SettingsError
from ...domain.json import to_json
from ...domain.validation import parse
from .request import Query, json_object, read_query

JSON, EVENTS, FILE = "application/json", "text/event-stream", "application/octet-stream"
View = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A decorator of views. The parameters ``query`` and ``body`` of a view get the checked query string and body.

    A view returns its answer as JSON, None for an answer without content, or a complete response. Its docstring is the
    description of the operation, its name the id.
    """

    need: Need
    returns: Any = None
    """The type of the JSON; None: the answer has no content, or only its media type is stated."""
    status: int = 200
    media: tuple[str, ...] = (JSON,)
    body: type[BaseModel] | None = None
    form: type[BaseModel] | None = None
    body_needed: bool = True
    query: type[Query] | None = None
    headers: tuple[Json, ...] = ()
    errors: tuple[int, ...] = ()
    """The statuses from 400 on that do not follow from the rest (`openapi.errors_of`)."""
    also: Mapping[int, Any] = field(default_factory=dict)
    """Other statuses with an answer of their own type, None = without content."""
    example: Json | None = None
    is_documented: bool = True
    is_counted: bool = True
    """Whether it counts against REQUESTS_PER_MINUTE."""

    def __call__(self, view: View) -> View:
        """Return the view with its JSON made into a response; one that only reads sees one state of the database."""
        parameters = inspect.signature(view).parameters

        @wraps(view)
        def respond(**arguments: Any) -> Any:
            if self.query is not None and "query" in parameters:
                arguments["query"] = read_query(self.query)
            if self.body is not None and "body" in parameters:
                arguments["body"] = parse(self.body, json_object())
            with request_cache() if self.need == "read" else nullcontext():
                answer = view(**arguments)
            if answer is None:
                return Response(status=self.status)
            if isinstance(answer, Response | tuple):
                return answer
            response = jsonify(to_json(answer, self.returns))
            response.status_code = self.status
            return response

        respond.route = self  # type: ignore[attr-defined]
        return respond


route = Route
PAGE = Route(need="nothing", is_documented=False, is_counted=False)
"""An HTML page, or a file of one: outside of the contract."""


def route_of(app: Flask, endpoint: str) -> Route | None:
    """Return what a view states about itself, None if nothing."""
    found: Route | None = getattr(app.view_functions[endpoint], "route", None)
    return found


def current_route() -> Route | None:
    """Return the route of the current request; None if its address is unknown."""
    return route_of(current_app, request.endpoint) if request.endpoint else None


def check_routes(app: Flask) -> None:
    """Raises SettingsError: a view without `@route` would be open to everybody."""
    if missing := sorted(endpoint for endpoint in app.view_functions if route_of(app, endpoint) is None):
        raise SettingsError(f"These views state no need: {', '.join(missing)}. Decorate them with @route.")

"""The declaration of views by `Views`; the services, checked JSON and query string of
the current request.

Access control, rate limits, the audit log and the OpenAPI document read what views
state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import wraps
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from flask import Blueprint, Flask, Response, current_app, jsonify, request
from flask.sansio.app import App
from flask.sansio.blueprints import BlueprintSetupState
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from ...database.core import Json
from ...database.repositories.caches import request_cache
from ...domain import Scope
from ...domain.callers import Need
from ...domain.errors import (
    LONGEST_SHOWN,
    IngestingError,
    InvalidRequestError,
    SettingsError,
)
from ...domain.json import to_json
from ...domain.validation import POSITION, parse
from ...language.words import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from ...library.samples import SampleReports
    from ..services import Services

JSON, EVENTS, FILE = "application/json", "text/event-stream", "application/octet-stream"
COLLECTIONS = "collections"
RENAMED = {"offset": "cursor", "after": "cursor", "before": "cursor"}
"""Parameters of API 1 and their new names."""
REPEATED = "Idempotency-Replayed"
"""A header of answers to requests that were done before."""
View = Callable[..., Any]
ErrorForm = Callable[[Json, int], Json]
"""Makes the JSON of an error and its status into another form of it."""
T = TypeVar("T")
LANGUAGE_COOKIE = "language"
"""Set by the switch (static/js/common/choices.js)."""


class Body(BaseModel):
    """A body in which an unknown field is an error: a misspelt filter must not widen
    the search. No text is taken for a number.
    """

    model_config = ConfigDict(extra="forbid", strict=True)


class OpenBody(BaseModel):
    """A body, or a part of one, of which newer fields are ignored."""

    model_config = ConfigDict(
        extra="ignore", strict=True, json_schema_extra={"additionalProperties": True}
    )


class Query(BaseModel):
    """The query string of an operation; other names are ignored."""


class ScopeQuery(Query):
    """A query string that also has the filter fields and `collections`; any other name
    is an error.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A view's declaration. Its parameters ``query`` and ``body`` get the checked query
    string and body. It returns what the answer's JSON is made of, None for an answer
    without content, or a complete response. Its docstring describes the operation, its
    name is the id, and its annotations are the types that are not declared here.
    """

    need: Need
    returns: Any = None
    """The type of the JSON; None: the answer has no content, or only its media type is
    stated.
    """
    status: int = 200
    media: tuple[str, ...] = (JSON,)
    body: type[BaseModel] | None = None
    form: type[BaseModel] | None = None
    """The fields of a form with a file, in place of ``body``."""
    files: int = 0
    """Maximum number of files of a form; 0 = it takes no form."""
    body_needed: bool = True
    query: type[Query] | None = None
    headers: tuple[Json, ...] = ()
    errors: tuple[int, ...] = ()
    """The statuses from 400 on that do not follow from the rest
    (`errors_of` of the extra openapi).
    """
    also: Mapping[int, Any] = field(default_factory=dict)
    """Other statuses with an answer of their own type, None = without content."""
    shown_once: str = ""
    """The field of the answer that is shown once and stored nowhere."""
    example: Json | None = None
    is_documented: bool = True
    is_counted: bool = True
    """True if it counts against REQUESTS_PER_MINUTE."""
    waits_for_model: bool = False
    """True if its requests count as questions (QUESTIONS); its address has no
    variables.
    """
    ignores_foreign_keys: bool = False
    """True if a key that was not made here counts as none: its clients must send one,
    even "none".
    """

    def __call__(self, view: View) -> View:
        """Return the view with its JSON made into a response; one that only reads sees
        one state of the database.
        """
        types = get_type_hints(view)
        query = types.get("query")
        body = types.get("body")
        returned = types.get("return")
        is_response = not isinstance(returned, type) or issubclass(
            returned, Response | NoneType
        )
        returns = returned if self.returns is None and not is_response else self.returns

        @wraps(view)
        def respond(**arguments: Any) -> Any:
            if query is not None:
                arguments["query"] = parse(query, _query_string(query))
            if body is not None:
                arguments["body"] = parse(
                    body, json_body() if self.body_needed or request.get_data() else {}
                )
            with request_cache() if self.need == "read" else nullcontext():
                answer = view(**arguments)
            if answer is None:
                return Response(status=self.status)
            if isinstance(answer, Response | tuple):
                return answer
            response = jsonify(to_json(answer, returns))
            response.status_code = self.status
            return response

        about = replace(self, query=query, body=body or self.body, returns=returns)
        respond.route = about  # type: ignore[attr-defined]
        return respond


PAGE = Route(need="nothing", is_documented=False, is_counted=False)
"""An HTML page, or a file of one: outside of the contract."""


class Views(Blueprint):
    """A blueprint whose views state what they are with their address:
    `@views.get("/api/x", need="read")`, with the fields of `Route`, or ``about``, a
    route that several share.
    """

    def route(  # type: ignore[override]  # views return what answers are made of
        self,
        rule: str,
        *,
        methods: list[str],
        about: Route | None = None,
        **stated: Any,
    ) -> Callable[[View], View]:
        add = super().route(rule, methods=methods)
        state = about or Route(**stated)
        # A view with two addresses is stated once.
        return lambda view: add(view if hasattr(view, "route") else state(view))

    def form_errors(self, below: str, form: ErrorForm) -> None:
        """Give the errors of all addresses below a path, also of unknown ones, the form
        that its clients read.
        """

        def add(state: BlueprintSetupState) -> None:
            error_forms(state.app)[below] = form

        self.record(add)

    if TYPE_CHECKING:

        def get(self, rule: str, **options: Any) -> Callable[[View], View]: ...  # type: ignore[override]

        post = patch = delete = get  # type: ignore[assignment]


def route_of(app: Flask, endpoint: str) -> Route | None:
    """Return what a view states about itself, None if nothing."""
    route: Route | None = getattr(app.view_functions[endpoint], "route", None)
    return route


def question_paths(app: Flask) -> frozenset[str]:
    """Return the addresses whose requests may wait for a model."""
    paths = set()
    for rule in app.url_map.iter_rules():
        route = route_of(app, rule.endpoint)
        if route is not None and route.waits_for_model:
            paths.add(rule.rule)
    return frozenset(paths)


def current_route() -> Route | None:
    """Return the route of the current request; None for an unknown address, and for
    OPTIONS, which needs nothing.
    """
    if request.endpoint and request.method != "OPTIONS":
        return route_of(current_app, request.endpoint)
    return None


def error_forms(app: App) -> dict[str, ErrorForm]:
    """Return the forms of errors by the beginning of the paths that they are for."""
    forms: dict[str, ErrorForm] = app.extensions.setdefault("error_forms", {})
    return forms


def check_routes(app: Flask) -> None:
    """Raises SettingsError: a view without a route would be open to everybody."""
    if missing := sorted(
        endpoint for endpoint in app.view_functions if route_of(app, endpoint) is None
    ):
        raise SettingsError(
            f"These views state no need: {', '.join(missing)}. Add them to a "
            "blueprint of `Views`."
        )


def services() -> Services:
    """Return the services of the application that serves the current request."""
    product: Services = current_app.extensions["services"]
    return product


def language() -> str:
    """Return the language of the current request, one of `LANGUAGES`."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    return request.accept_languages.best_match(LANGUAGES, default=ENGLISH)


def samples() -> SampleReports | None:
    """Return the loading of the sample reports, None where it is off or has not
    begun.
    """
    loading: SampleReports | None = current_app.extensions.get("samples")
    return loading


def require_samples() -> None:
    """Raises IngestingError in the first moments of a first start, when "not found"
    could be wrong.
    """
    loading = samples()
    if loading is not None and loading.unknown:
        count = services().readers.everything().documents.holdings(Scope()).documents
        if not count or count < loading.total:
            raise IngestingError("The sample reports are being read.")


def wake_worker() -> None:
    """Have a worker read the queued files now."""
    current_app.extensions["run_worker"]()


def json_body() -> Any:
    """Return the current request's JSON, None where it has none or cannot be read.
    Raises InvalidRequestError: it has a name twice.
    """
    try:
        if request.is_json:
            return parse_json(request.get_data())
        return None
    except (ValueError, RecursionError):
        return None


def parse_json(text: str | bytes) -> Any:
    """Raises InvalidRequestError, ValueError, RecursionError."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # The last one would win: empty filters, and the search is wider than the first
        # ones say.
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if name in fields:
                raise InvalidRequestError.for_field(
                    name[:LONGEST_SHOWN], "is there twice."
                )
            fields[name] = value
        return fields

    return json.loads(text, object_pairs_hook=unique)


def _query_string(model: type[Query]) -> dict[str, str]:
    """Return the parameters of the current request that ``model`` knows. Raises
    InvalidRequestError.
    """
    sent: dict[str, str] = {}
    for name, values in request.args.lists():
        if (new := RENAMED.get(name)) in model.model_fields:
            raise InvalidRequestError.for_field(
                name, f"is now {new}: send the `next` of the previous page.", [new]
            )
        if name in model.model_fields:
            if len(values) > 1:
                raise InvalidRequestError.for_field(name, "is there twice.")
            sent[name] = values[0]
    return sent


def query_filters(query: ScopeQuery) -> dict[str, Any]:
    """Return the filters of the query string. Repeated keys are alternatives;
    `year.gte` and `year.lte` give a range.
    """
    filters: dict[str, Any] = {}
    ranges: dict[str, dict[str, str]] = {}
    for name, values in request.args.lists():
        if name == COLLECTIONS or name in type(query).model_fields:
            continue
        field, _, end = name.partition(".")
        if end in {"gte", "lte"}:
            ranges.setdefault(field, {})[end] = values[-1]
        else:
            filters[name] = values
    for field in filters.keys() & ranges.keys():
        raise InvalidRequestError.for_field(field, "takes values or a range, not both.")
    return {**filters, **ranges}


def _digits_only(value: Any) -> Any:
    # Python refuses to read thousands of digits.
    if isinstance(value, str) and not (value.isdecimal() and len(value) <= 9):
        raise PydanticCustomError("int_parsing", "must be a whole number.")
    return value


Number = Annotated[int, BeforeValidator(_digits_only)]
# The bounds stand before the validator: only there the description has them.
Year = Annotated[int, Field(ge=0, le=3000), BeforeValidator(_digits_only)]
Cursor = Annotated[str, Field(description="The `next` of the previous page.")]
Position = Annotated[Cursor, StringConstraints(pattern=POSITION)]
"""The number of entries before the page."""


def page_size(default: int, most: int) -> Any:
    """Return the parameter `limit` of a list."""
    return Field(default, ge=1, le=most, description="Maximum number of entries.")


class Page(Query):
    """A page of a list."""

    limit: Number = page_size(50, 200)
    cursor: Position = "0"

    @property
    def start(self) -> int:
        return int(self.cursor)

    def next(self, total: int) -> str | None:
        """Return the cursor of the page after this one; None where this is the last of
        ``total`` entries.
        """
        end = self.start + self.limit
        if end < total:
            return str(end)
        return None

    def of(
        self,
        name: str,
        entries: Sequence[T],
        show: Callable[[T], Any] = lambda entry: entry,
    ) -> dict[str, Any]:
        """Return this page of all ``entries``, which ``show`` makes into what the API
        shows, as `listing` describes.
        """
        page = entries[self.start : self.start + self.limit]
        return {
            name: list(map(show, page)),
            "total": len(entries),
            "next": self.next(len(entries)),
        }


def answer_type(type_name: str, **fields: Any) -> Any:
    """Return the type of an answer that is an object with these fields."""
    return TypedDict(type_name, fields)  # type: ignore[operator]


def listing(type_name: str, name: str, entry: Any) -> Any:
    """Return the type of a page of a list: its entries, the number of all, and the
    cursor of the next page.
    """
    return answer_type(
        type_name, **{name: list[entry], "total": int, "next": str | None}
    )

"""The OpenAPI document of an application, derived from what its views state (`routes`),
and its page.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flask import (
    Flask,
    Response,
    current_app,
    jsonify,
    make_response,
    render_template,
    request,
)
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from werkzeug.routing import Rule

from ...answering.modes import MODES
from ...app.web.callers import STRANGERS
from ...app.web.cookies import SESSION_COOKIE
from ...app.web.monitoring import Error
from ...app.web.routes import (
    COLLECTIONS,
    EVENTS,
    JSON,
    PAGE,
    Route,
    ScopeQuery,
    Views,
    route_of,
    services,
)
from ...config.settings import Settings
from ...config.settings_types import PRESETS
from ...database.core import Json
from ...domain.callers import NEEDS
from ...domain.json import inlined
from ...search import RETRIEVAL_METHODS
from ...search.scope import COUNTRY, GROUP, REPORT_CONTEXT_FIELDS
from .. import enabled, load

openapi = Views("openapi", __name__)
API_VERSION = "2.0.0"
"""The version of the contract; docs/api.md says when it changes."""
REF = "#/components/schemas/"
ERRORS = {
    400: "The request is wrong; `details` name the fields and their valid values.",
    401: "The key is missing, unknown or revoked.",
    403: "The role of the key, the host name or the origin of the page is not allowed.",
    404: "Not found, or it belongs to somebody else.",
    409: "In conflict with what exists or is in progress.",
    413: "The body is too large.",
    422: "A file or page that cannot be read.",
    429: "The limit of requests or tokens is reached.",
    503: "A dependency does not work, or too many questions are in progress.",
    507: "The disk or the upload quota is full.",
}
NAMES = {
    "mode": MODES.names(),
    "retrieval_method": RETRIEVAL_METHODS.names(),
    "preset": list(PRESETS),
}
"""Valid values of these fields of a question."""
SECURITY = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "Created by `python -m chatbot keys create`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "Set by `POST /api/session`.",
    },
}
DescribeHeader = Callable[[Route, str], Json | None]
_CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")


@openapi.get("/openapi.json", need="nothing", returns=Json)
def get_openapi() -> Response:
    """Get this description."""
    made = current_app.extensions
    if "openapi" not in made:  # once, because it takes as long as a search
        made["openapi"] = describe(current_app, services().settings)
    response = jsonify(made["openapi"])
    response.add_etag()
    response.make_conditional(request)
    return response


@openapi.get("/docs", about=PAGE)
def show_docs() -> Response:
    """Show where the API is described."""
    return make_response(render_template("docs.html"))


def describe(app: Flask, settings: Settings) -> Json:
    """Return the document; it states what callers without a key may do under the ACCESS
    of the settings.
    """
    stated = ((rule, route_of(app, rule.endpoint)) for rule in app.url_map.iter_rules())
    routes = [
        (rule, about)
        for rule, about in stated
        if about is not None and about.is_documented
    ]
    references, schemas = _schemas([about for _, about in routes], settings)
    paths: dict[str, Json] = {}
    describing: list[DescribeHeader] = []
    for extra in enabled(settings):
        describing += map(load, extra.request_headers)
    for rule, about in routes:
        doc = inspect.getdoc(app.view_functions[rule.endpoint]) or ""
        operation = _operation(rule, about, doc, references, settings)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            path = _CONVERTER.sub(r"{\1}", rule.rule)
            paths.setdefault(path, {})[method.lower()] = _with_headers(
                operation, about, method, describing
            )
    info: Json = {
        "title": "report-chat",
        "version": API_VERSION,
        "summary": "Ask your reports: scoped, cited answers.",
    }
    info["license"] = {"name": "MIT", "identifier": "MIT"}
    tags = [
        {"name": name}
        for name in dict.fromkeys(rule.endpoint.partition(".")[0] for rule, _ in routes)
    ]
    responses = {
        str(status): _response(text, references[Error])
        for status, text in ERRORS.items()
    }
    components = {
        "schemas": schemas,
        "responses": responses,
        "securitySchemes": SECURITY,
    }
    document = {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": "."}],
        "tags": tags,
        "paths": paths,
    }
    return {**document, "components": components}


def _with_headers(
    operation: Json, about: Route, method: str, describing: Iterable[DescribeHeader]
) -> Json:
    """Return an operation with the headers that extras read."""
    headers = []
    for describe_header in describing:
        header = describe_header(about, method)
        if header is not None:
            headers.append(header)
    if not headers:
        return operation
    return {**operation, "parameters": [*operation.get("parameters", ()), *headers]}


class _Untitled(GenerateJsonSchema):
    """Leaves titles out: they only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        """An answer has all fields, unless they say when they are left out."""
        if self.mode == "serialization" and field["type"] != "typed-dict-field":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)


def _schemas(routes: list[Route], settings: Settings) -> tuple[dict[Any, Json], Json]:
    """Return the reference to each type, and the schemas by name."""
    types: dict[Any, JsonSchemaMode] = {Error: "serialization"}
    for about in routes:
        types |= dict.fromkeys(filter(None, (about.body, about.form)), "validation")
        events = about.returns.values() if isinstance(about.returns, dict) else ()
        returned = (about.returns, *events, *about.also.values())
        types |= dict.fromkeys(
            (one for one in returned if isinstance(one, type)), "serialization"
        )
    inputs = [(one.__name__, mode, TypeAdapter(one)) for one, mode in types.items()]
    by_type, shared = TypeAdapter.json_schemas(
        inputs, ref_template=REF + "{model}", schema_generator=_Untitled
    )
    plain = {
        name: schema for (name, _), schema in by_type.items() if "$ref" not in schema
    }
    schemas: Json = inlined({**shared.get("$defs", {}), **plain})
    for body in ("ChatRequest", "SearchRequest"):
        fields = schemas[body]["properties"]
        for name, valid in NAMES.items():
            if name in fields:
                fields[name] = {"enum": [*valid, fields[name]["default"]]}
        names = list(settings.filter_fields)
        if COUNTRY in names:
            names.append(GROUP)
        fields["filters"]["anyOf"][0]["propertyNames"] = {"enum": names}
    schemas["ReportContext"]["properties"]["type"]["enum"] = list(REPORT_CONTEXT_FIELDS)
    return {one: {"$ref": REF + one.__name__} for one in types}, dict(
        sorted(schemas.items())
    )


def _operation(
    rule: Rule,
    about: Route,
    doc: str,
    references: Mapping[Any, Json],
    settings: Settings,
) -> Json:
    tag, _, name = rule.endpoint.partition(".")
    first, *rest = name.split("_")
    summary, _, more = (" ".join(part.split()) for part in doc.partition("\n\n"))
    needs = (
        f"Needs a key with the role {about.need}." if about.need != "nothing" else ""
    )
    operation: Json = {
        "operationId": first + "".join(word.capitalize() for word in rest),
        "tags": [tag],
        "summary": summary.removesuffix("."),
        "description": " ".join(filter(None, (more, needs))) or summary,
    }
    if parameters := [*_parameters(rule, about, settings)]:
        operation["parameters"] = parameters
    if body := _request_body(about, references):
        operation["requestBody"] = body
    open_to_all = NEEDS.index(about.need) <= NEEDS.index(STRANGERS[settings.rule])
    schemes: list[Json] = [{name: []} for name in SECURITY if about.need != "nothing"]
    operation["security"] = [*([{}] if open_to_all else []), *schemes]
    success: Json = {"description": summary}
    if about.status != 204:
        success["content"] = {
            media: {"schema": _answer(media, about, references)}
            for media in about.media
        }
    responses = {str(about.status): success}
    responses |= {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in errors_of(rule, about)
    }
    for status, type_ in about.also.items():
        accepted = {"description": "Accepted; no content."}
        responses[str(status)] = (
            accepted if type_ is None else _response(ERRORS[status], references[type_])
        )
    return {**operation, "responses": responses}


def _request_body(about: Route, references: Mapping[Any, Json]) -> Json | None:
    if about.form is not None:
        form: Json = {"schema": references[about.form]}
        return {"required": True, "content": {"multipart/form-data": form}}
    if about.body is None:
        return None
    body: Json = {"schema": references[about.body]}
    if about.example is not None:
        body["example"] = about.example
    return {"required": about.body_needed, "content": {JSON: body}}


def _parameters(rule: Rule, about: Route, settings: Settings) -> Iterator[Json]:
    for name in _CONVERTER.findall(rule.rule):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
    yield from about.headers
    if about.query is None:
        return
    fields = (
        TypeAdapter(about.query)
        .json_schema(schema_generator=_Untitled)
        .get("properties", {})
    )
    for name, schema in fields.items():
        text = (
            {"description": schema.pop("description")}
            if "description" in schema
            else {}
        )
        # A parameter is absent rather than null.
        schemas = [
            one for one in schema.get("anyOf", [schema]) if one != {"type": "null"}
        ]
        yield {"name": name, "in": "query", **text, "schema": schemas[0]}
    if not issubclass(about.query, ScopeQuery):
        return
    for name in (*settings.filter_fields, COLLECTIONS):
        if name not in fields:
            schema = {
                "type": "array",
                "items": {"type": "integer" if name == "year" else "string"},
            }
            yield {
                "name": name,
                "in": "query",
                "description": "Any of these.",
                "schema": schema,
            }
    if "year" not in fields:
        for name, meaning in (
            ("year.gte", "From this year on, instead of `year`."),
            ("year.lte", "Up to this year."),
        ):
            yield {
                "name": name,
                "in": "query",
                "description": meaning,
                "schema": {"type": "integer"},
            }


def _answer(media: str, about: Route, references: Mapping[Any, Json]) -> Json:
    if media == JSON:
        return references.get(about.returns, {"type": "object"})
    if media != EVENTS:
        return {"type": "string"}
    if not isinstance(about.returns, dict):
        return {
            "type": "object",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
        }
    events = []
    for name, type_ in about.returns.items():
        data = {
            "type": "string",
            "contentMediaType": JSON,
            "contentSchema": references[type_],
        }
        properties = {"event": {"const": name}, "data": data, "id": {"type": "string"}}
        events.append(
            {"type": "object", "properties": properties, "required": ["event", "data"]}
        )
    return {"oneOf": events}


def _response(description: str, schema: Json) -> Json:
    return {"description": description, "content": {JSON: {"schema": schema}}}


def errors_of(rule: Rule, about: Route) -> list[int]:
    """Return every status from 400 on that an operation may have."""
    statuses = {
        400,
        403,
        429,
        503,
        *about.errors,
        *(status for status in about.also if status >= 400),
    }
    statuses |= {401} if about.need != "nothing" else set()
    statuses |= {404} if rule.arguments else set()
    statuses |= {413} if about.body is not None else set()
    return sorted(statuses)

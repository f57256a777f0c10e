"""The OpenAPI document of an application: its routes, what is said of them, the schemas of all types; and its page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flask import Blueprint, Flask, Response, current_app, jsonify, make_response, render_template
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from werkzeug.routing import Rule

from ...agents import AGENTS
from ...errors import SettingsError
from ...presets import PRESETS
from ...retrieval import RETRIEVAL_METHODS
from ...retrieval.scope import REPORT_CONTEXT_FIELDS
from ...schema.access import NEEDS, Need
from ...settings import Settings
from ..access import KEY_COOKIE, RULES, STRANGERS
from ..idempotency import HEADER, HEADER_PATTERN, ONCE
from ..services import services
from . import answers
from .operations import EVENTS, FILTERS, JSON, OPERATIONS, SENT, Json, Operation

described = Blueprint("described", __name__)
API_VERSION = "1.1.0"
"""Of the contract: its policy is in docs/api.md."""
REF = "#/components/schemas/"
ERRORS = {
    400: "The request is wrong; `details` name the fields and their valid values.",
    401: "It needs a key, or the one sent is none.",
    403: "The key, the host's name or the page that asks is not allowed to.",
    404: "There is no such thing, or it is another's.",
    409: "It contradicts what is there or is going on.",
    413: "The body is too large.",
    422: "A file or page that cannot be read, or the Idempotency-Key of another request.",
    429: "More requests or tokens than are the caller's.",
    503: "Something it depends on does not work, or too much is under way.",
    507: "There is no room for more.",
}
NAMES = {"mode": AGENTS.names(), "retrieval_method": RETRIEVAL_METHODS.names(), "preset": list(PRESETS)}
"""Valid in these fields of a question."""
ONCE_HEADER = {
    "name": HEADER,
    "in": "header",
    "description": "The same request again with the same key is answered as before, for a day, and not done again.",
    "schema": {"type": "string", "pattern": HEADER_PATTERN},
}
_CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")


NOTED = "Taken note of; there is nothing to say."


@described.get("/openapi.json")
def document() -> Response:
    """For machines. Made once: it takes as long as many a search."""
    made = current_app.extensions
    if "description" not in made:
        made["description"] = describe(current_app, services().settings)
    return jsonify(made["description"])


@described.get("/docs")
def viewer() -> Response:
    """For people."""
    return make_response(render_template("docs.html"))


def check_described(app: Flask) -> None:
    """Raises SettingsError: a route that nothing is said of is no part of the contract."""
    served = {rule.endpoint for rule in app.url_map.iter_rules()} - {"static", "assets.asset"}
    if served != OPERATIONS.keys():
        differ = ", ".join(sorted(served ^ OPERATIONS.keys()))
        raise SettingsError(f"OPERATIONS in web/openapi/operations.py and the routes differ: {differ}")


def describe(app: Flask, settings: Settings) -> Json:
    """The document. What those without a key may do is as ACCESS has it."""
    references, schemas = _schemas(settings)
    rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
    paths: dict[str, Json] = {}
    for endpoint, operation in OPERATIONS.items():
        rule = rules[endpoint]
        methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
        for method in methods:
            shown = _operation(rule, operation, references, settings)
            if len(methods) > 1:
                shown["operationId"] += f"_{method.lower()}"
            paths.setdefault(_CONVERTER.sub(r"{\1}", rule.rule), {})[method.lower()] = shown
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "report-chat",
            "version": API_VERSION,
            "summary": "Ask your reports: scoped, cited answers.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "."}],
        "tags": [{"name": name} for name in dict.fromkeys(endpoint.partition(".")[0] for endpoint in OPERATIONS)],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {str(status): _answered(said, references[answers.Error]) for status, said in ERRORS.items()},
            "securitySchemes": SECURITY,
        },
    }


SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "Made with `python -m chatbot keys create`."},
    "session": {"type": "apiKey", "in": "cookie", "name": KEY_COOKIE, "description": "By `POST /api/session`."},
}


class _Untitled(GenerateJsonSchema):
    """A field's title would be its name once more."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schemas(settings: Settings) -> tuple[dict[Any, Json], Json]:
    """How each type is referred to, and the schemas of all."""
    wanted: dict[Any, JsonSchemaMode] = dict.fromkeys(SENT.values(), "serialization")
    for operation in OPERATIONS.values():
        wanted |= dict.fromkeys(filter(None, (operation.body, operation.form)), "validation")
        answered = (operation.answer, *(operation.also or {}).values())
        wanted |= dict.fromkeys((one for one in answered if isinstance(one, type)), "serialization")
    inputs = [(one.__name__, mode, TypeAdapter(one)) for one, mode in wanted.items()]
    found, shared = TypeAdapter.json_schemas(inputs, ref_template=REF + "{model}", schema_generator=_Untitled)
    own = {name: schema for (name, _), schema in found.items() if "$ref" not in schema}
    schemas: Json = {**shared.get("$defs", {}), **own}
    for body in ("ChatRequest", "SearchRequest"):
        fields = schemas[body]["properties"]
        for name, valid in NAMES.items():
            if name in fields:
                fields[name] = {"enum": [*valid, fields[name]["default"]]}
        fields["filters"]["anyOf"][0]["propertyNames"] = {"enum": list(settings.filter_fields)}
    schemas["ReportContext"]["properties"]["type"]["enum"] = list(REPORT_CONTEXT_FIELDS)
    return {one: {"$ref": REF + one.__name__} for one in wanted}, dict(sorted(schemas.items()))


def _operation(rule: Rule, operation: Operation, references: Mapping[Any, Json], settings: Settings) -> Json:
    need, tag = RULES[rule.endpoint], rule.endpoint.partition(".")[0]
    shown: Json = {"operationId": rule.endpoint.replace(".", "_"), "tags": [tag], "summary": operation.summary}
    notes = [operation.notes, f"Needs a key that may {need}." if need != "nothing" else ""]
    shown["description"] = " ".join(filter(None, notes)) or operation.summary
    once = [ONCE_HEADER] if rule.endpoint in ONCE else []
    if parameters := [*_in_path(rule), *_parameters(operation, settings), *once]:
        shown["parameters"] = parameters
    if operation.body is not None:
        shown["requestBody"] = _body(operation, references)
    shown["security"] = _security(need, STRANGERS[settings.rule])
    shown["responses"] = _responses(rule, operation, need, references)
    return shown


def _security(need: Need, strangers: Need) -> list[dict[str, list[str]]]:
    free = NEEDS.index(need) <= NEEDS.index(strangers)
    known: list[dict[str, list[str]]] = [{name: []} for name in SECURITY if need != "nothing"]
    return [*([{}] if free else []), *known]


def _in_path(rule: Rule) -> Iterator[Json]:
    for name in _CONVERTER.findall(rule.rule):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameters(operation: Operation, settings: Settings) -> Iterator[Json]:
    taken = {parameter["name"] for parameter in operation.parameters}
    for parameter in operation.parameters:
        if parameter["name"] == FILTERS:
            yield from (one for one in _scope(settings) if one["name"].partition(".")[0] not in taken)
        elif parameter["name"] == "field":
            yield {**parameter, "schema": {"enum": list(settings.filter_fields)}}
        else:
            yield parameter


def _scope(settings: Settings) -> Iterator[Json]:
    for name in (*settings.filter_fields, "collections"):
        items = {"type": "integer" if name == "year" else "string"}
        schema = {"type": "array", "items": items}
        yield {"name": name, "in": "query", "description": "Any of these.", "schema": schema}
    for name, meaning in (("year.gte", "From this year on, instead of `year`."), ("year.lte", "Up to this year.")):
        yield {"name": name, "in": "query", "description": meaning, "schema": {"type": "integer"}}


def _body(operation: Operation, references: Mapping[Any, Json]) -> Json:
    content: Json = {JSON: {"schema": references[operation.body]}}
    if operation.example is not None:
        content[JSON]["example"] = operation.example
    if operation.form is operation.body:
        files = {"type": "array", "items": {"contentMediaType": "application/octet-stream"}, "minItems": 1}
        fields = {"request": references[operation.body], "files": files}
        schema = {"type": "object", "properties": fields, "required": ["request"], "additionalProperties": False}
        content["multipart/form-data"] = {"schema": schema}
    elif operation.form is not None:
        content["multipart/form-data"] = {"schema": references[operation.form]}
    return {"required": operation.body_needed, "content": content}


def _responses(rule: Rule, operation: Operation, need: Need, references: Mapping[Any, Json]) -> Json:
    good: Json = {"description": operation.summary}
    if operation.media == EVENTS:
        good = _answered(operation.summary, {"oneOf": list(_events(references))}, EVENTS)
    elif operation.media != JSON:
        good = _answered(operation.summary, {"type": "string"}, operation.media)
    elif operation.answer is not None:
        good = _answered(operation.summary, references.get(operation.answer, {"type": "object"}))
    if operation.or_as:
        event: Json = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
        good["content"][operation.or_as] = {"schema": event if operation.or_as == EVENTS else {"type": "string"}}
    responses = {str(operation.status): good}
    for status in errors_of(rule, operation, need):
        responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
    for status, type_ in (operation.also or {}).items():
        told = {"description": NOTED} if type_ is None else _answered(ERRORS[status], references[type_])
        responses[str(status)] = told
    return responses


def _events(references: Mapping[Any, Json]) -> Iterator[Json]:
    """Each as its fields; its data is JSON."""
    for name, type_ in SENT.items():
        data = {"type": "string", "contentMediaType": JSON, "contentSchema": references[type_]}
        properties: Json = {"event": {"const": name}, "data": data, "id": {"type": "string"}}
        yield {"type": "object", "properties": properties, "required": ["event", "data"]}


def _answered(description: str, schema: Json, media: str = JSON) -> Json:
    return {"description": description, "content": {media: {"schema": schema}}}


def errors_of(rule: Rule, operation: Operation, need: Need) -> list[int]:
    """Every status from 400 on that it may have."""
    found = {400, 403, 429, 503, *operation.errors, *(operation.also or {})}
    if need != "nothing":
        found.add(401)
    if rule.arguments:
        found.add(404)
    if operation.body is not None:
        found.add(413)
    if rule.endpoint in ONCE:
        found |= {409, 422, 507}
    return sorted(found)

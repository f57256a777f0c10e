"""The calls of tools that a model plans with: their arguments, their descriptions for
the model, and how they are read from its reply.

A server that knows tools is sent `TOOLS`; any other the JSON schema of the same calls,
or a description in words. `models/chat/openai.py` gives the calls of the first as the
text that the second writes: ``{"calls": [{"tool": "search", "queries": [...]}]}``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...domain.chat import ToolSpec
from ...domain.figure_query import AnyStep, FigureQuery, Step
from ...models.replies import Shape
from ...models.replies.readers import MAX_QUESTION_CHARACTERS, json_values
from ...models.replies.stream import readable

MAX_CALLS = 8
"""Calls of one plan."""
Query = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]


def _as_list(value: object) -> object:
    """Return what a model writes for a list: the list, one value alone, or nothing."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list | tuple) else [value]


Names = Annotated[list[str], BeforeValidator(_as_list), Field(max_length=60)]
Years = Annotated[list[int], BeforeValidator(_as_list), Field(max_length=60)]


class ToolArguments(BaseModel):
    """The arguments of one call. Fields that a model adds are left out."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)


class SearchCall(ToolArguments):
    """Find passages. One query for each thing and side that is asked."""

    tool: Literal["search"] = "search"
    queries: Annotated[list[Query], BeforeValidator(_as_list)] = Field(
        min_length=1, max_length=8
    )
    countries: Names = []
    """Only where the question is about these."""
    editions: Years = []
    """Years of reports."""
    years: Years = []
    """Years of figures, which are no filter."""
    more: bool = False


class FiguresCall(ToolArguments):
    """Compute from the table of figures."""

    tool: Literal["figures"] = "figures"
    query: FigureQuery
    more: bool = False


class ReadCall(ToolArguments):
    """Read a section, or a page, of one report."""

    tool: Literal["read"] = "read"
    report: str = Field(min_length=1, max_length=300)
    heading: str = Field("", max_length=300)
    page: int | None = Field(None, ge=1)
    more: bool = False


class EarlierCall(ToolArguments):
    """Take the passages that earlier answers cite."""

    tool: Literal["earlier"] = "earlier"
    more: bool = False


class AskBackCall(ToolArguments):
    """Ask the person back."""

    tool: Literal["ask_back"] = "ask_back"
    question: str = Field(min_length=1, max_length=1000)
    more: bool = False


class AnswerCall(ToolArguments):
    """Nothing more is needed for the answer."""

    tool: Literal["answer"] = "answer"
    more: bool = False


AnyCall: TypeAlias = (
    SearchCall | FiguresCall | ReadCall | EarlierCall | AskBackCall | AnswerCall
)
_CALLS: Mapping[str, type[AnyCall]] = {
    "search": SearchCall,
    "figures": FiguresCall,
    "read": ReadCall,
    "earlier": EarlierCall,
    "ask_back": AskBackCall,
    "answer": AnswerCall,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model wants to look for. ``text``: its calls, as the next prompt repeats
    them.
    """

    calls: Sequence[AnyCall]
    text: str

    @property
    def more(self) -> bool:
        """True if it wants to see what is found before it is written from."""
        return any(call.more for call in self.calls)

    @property
    def queries(self) -> list[str]:
        """All that is searched for, each once."""
        queries: list[str] = []
        for call in self.calls:
            if isinstance(call, SearchCall):
                queries += call.queries
        return list(dict.fromkeys(queries))


NO_PLAN = Plan((), "")


def plan_shape() -> Shape[Plan]:
    """Return the shape of a reply that calls tools."""
    repair = f"Your reply has no calls that can be read. {as_json_in_words()}"
    return Shape(_SCHEMA, read_plan, repair)


def as_json_in_words() -> str:
    """Return how calls are written by a model without tools."""
    fields = "; ".join(
        f"{tool.name}({', '.join(tool.parameters['properties'])})" for tool in TOOLS
    )
    call = {"tool": "search", "queries": ["What is the inflation rate of Kenya?"]}
    example = json.dumps({"calls": [call]})
    return (
        f"Write only JSON with the calls that you want, like {example}. Their fields: "
        f'{fields}. A step of figures: {", ".join(_OPERATIONS)} as "op".'
    )


def read_plan(reply: str) -> Plan | None:
    """Return the calls of a reply, None where it has none that can be read."""
    calls: list[AnyCall] = []
    for fields in _written_calls(json_values(readable(reply))):
        call = _read_call(fields)
        if call is not None and len(calls) < MAX_CALLS:
            calls.append(call)
    if not calls:
        return None
    written = [
        call.model_dump(mode="json", exclude_unset=True) | {"tool": call.tool}
        for call in calls
    ]
    return Plan(calls, json.dumps({"calls": written}, ensure_ascii=False))


def _written_calls(values: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of each call, however deep the reply has it in a list."""
    for value in values:
        if isinstance(value, list):
            yield from _written_calls(value)
        elif isinstance(value, Mapping):
            inner = value.get("calls")
            if isinstance(inner, list):
                yield from _written_calls(inner)
            else:
                yield value


def _read_call(fields: Mapping[str, Any]) -> AnyCall | None:
    arguments = fields.get("arguments", fields)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    if not isinstance(arguments, Mapping):
        return None
    name = fields.get("tool", fields.get("name"))
    kind = _CALLS.get(name) if isinstance(name, str) else None
    if kind is None:
        return None
    given = {key: value for key, value in arguments.items() if value is not None}
    if kind is FiguresCall:
        given = {**given, "query": _figure_fields(given)}
    try:
        return kind.model_validate({**given, "tool": name})
    except ValidationError:
        return None


def _figure_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `FigureQuery`, each step with those of its operation: the
    schema that models see has one kind of step with the fields of all.
    """
    inner = given.get("query")
    source = inner if isinstance(inner, Mapping) else given
    fields = {name: source[name] for name in FigureQuery.model_fields if name in source}
    for name in ("indicators", "subjects", "years", "editions", "steps"):
        if name in fields:
            fields[name] = _as_list(fields[name])
    steps = fields.get("steps", [])
    fields["steps"] = [_step_fields(step) for step in steps if isinstance(step, dict)]
    return fields


def _step_fields(step: Mapping[str, Any]) -> dict[str, Any]:
    for kind in _STEPS:
        if step.get("op") in get_args(kind.model_fields["op"].annotation):
            return {
                name: value
                for name, value in step.items()
                if name in kind.model_fields and value is not None
            }
    return dict(step)


_STEPS: tuple[type[Step], ...] = get_args(get_args(AnyStep)[0])
_OPERATIONS = [
    operation
    for kind in _STEPS
    for operation in get_args(kind.model_fields["op"].annotation)
]


def _list_of(kind: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}}


def _step_schema() -> dict[str, Any]:
    """Return the schema of a step: the fields of all operations."""
    properties: dict[str, Any] = {}
    for kind in _STEPS:
        for name in kind.model_fields:
            properties[name] = {"type": _STEP_TYPES.get(name, "string")}
    properties["op"] = {"type": "string", "enum": _OPERATIONS}
    properties["of"] = {"type": "string", "enum": ["subjects", "indicators", "years"]}
    return {"type": "object", "properties": properties, "required": ["op"]}


_STEP_TYPES = {
    "percent": "boolean",
    "lowest": "boolean",
    "most": "integer",
    "value": "number",
    "upper": "number",
    "times": "number",
    "negated": "boolean",
}
_MORE = {
    "type": "boolean",
    "description": "True only where the next call depends on what this one brings.",
}


def _tool(name: str, required: Sequence[str], **properties: Any) -> ToolSpec:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }
    return ToolSpec(name, str(_CALLS[name].__doc__), parameters)


TOOLS = (
    _tool(
        "search",
        ["queries"],
        queries=_list_of("string"),
        countries=_list_of("string"),
        editions=_list_of("integer"),
        years=_list_of("integer"),
        more=_MORE,
    ),
    _tool(
        "figures",
        ["indicators"],
        indicators=_list_of("string"),
        subjects=_list_of("string"),
        years=_list_of("integer"),
        editions=_list_of("integer"),
        steps={"type": "array", "items": _step_schema()},
        more=_MORE,
    ),
    _tool(
        "read",
        ["report"],
        report={"type": "string"},
        heading={"type": "string"},
        page={"type": "integer"},
        more=_MORE,
    ),
    _tool("earlier", []),
    _tool("answer", []),
    _tool("ask_back", ["question"], question={"type": "string"}),
)


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema within OpenAI's strict mode: every field is there, those that
    need not be as null.
    """
    if schema["type"] == "array":
        return {"type": "array", "items": _strict(schema["items"])}
    if schema["type"] != "object":
        return dict(schema)
    properties = {}
    for name, field in schema["properties"].items():
        described = _strict(field)
        if name not in schema["required"]:
            described = {"anyOf": [described, {"type": "null"}]}
        properties[name] = described
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strict_call(tool: ToolSpec) -> dict[str, Any]:
    name = {"type": "string", "enum": [tool.name]}
    parameters = tool.parameters
    return _strict(
        {
            "type": "object",
            "properties": {"tool": name, **parameters["properties"]},
            "required": ["tool", *parameters["required"]],
        }
    )


_SCHEMA: Mapping[str, Any] = {
    "title": "calls",
    "type": "object",
    "properties": {
        "calls": {
            "type": "array",
            "items": {"anyOf": [_strict_call(tool) for tool in TOOLS]},
        }
    },
    "required": ["calls"],
    "additionalProperties": False,
}

"""The calls of tools that a model plans with (`calls.toml` describes them to it), and
how they are read from its reply.

A server that knows tools is sent `TOOLS`; any other the JSON schema of the same calls,
or a description in words. `models/chat/openai.py` gives the calls of the first as the
text that the second writes: ``{"calls": [{"tool": "search", "queries": [...]}]}``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from ...domain.chat import ToolSpec
from ...domain.errors import read_table
from ...domain.figure_query import AnyStep, FigureQuery
from ...models.replies import Shape
from ...models.replies.readers import MAX_QUESTION_CHARACTERS, json_values
from ...models.replies.stream import readable

MAX_CALLS = 8
"""Calls of one plan."""


def _as_list(value: object) -> object:
    """Return a list that a model wrote, or one value that it wrote for a list."""
    if isinstance(value, list):
        return value
    return [value]


Query = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
Names = Annotated[list[str], BeforeValidator(_as_list), Field(max_length=60)]
Years = Annotated[list[int], BeforeValidator(_as_list), Field(max_length=60)]


class ToolArguments(BaseModel):
    """The arguments of one call. Fields that a model adds are left out. ``more``: it
    wants to see what is found before it goes on.
    """

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)
    more: bool = False


class SearchCall(ToolArguments):
    """``editions`` are years of reports, ``years`` those of figures: no filter."""

    tool: Literal["search"]
    queries: Annotated[list[Query], BeforeValidator(_as_list), Field(max_length=8)]
    countries: Names = []
    editions: Years = []
    years: Years = []


_FIELDS_OF_STEP = {
    operation: kind.model_fields.keys()
    for kind in get_args(get_args(AnyStep)[0])
    for operation in get_args(kind.model_fields["op"].annotation)
}


def _steps(value: object) -> object:
    """Return each step with the fields of its operation: models see one kind of step
    with the fields of all.
    """
    if not isinstance(value, list):
        return value
    steps = []
    for step in value:
        if isinstance(step, dict):
            known = _FIELDS_OF_STEP.get(step.get("op"), step)
            steps.append({name: step[name] for name in known if name in step})
    return steps


class FiguresCall(FigureQuery):
    """A query over the table of figures."""

    model_config = ConfigDict(extra="ignore")
    tool: Literal["figures"]
    steps: Annotated[tuple[AnyStep, ...], BeforeValidator(_steps)] = ()
    more: bool = False


class ReadCall(ToolArguments):
    """A section or a page of one report, or its beginning."""

    tool: Literal["read"]
    report: str = Field(min_length=1, max_length=300)
    heading: str = Field("", max_length=300)
    page: int | None = Field(None, ge=1)


class EarlierCall(ToolArguments):
    """The passages that earlier answers cite."""

    tool: Literal["earlier"]


class AskBackCall(ToolArguments):
    """A question to the person."""

    tool: Literal["ask_back"]
    question: str = Field(min_length=1, max_length=1000)


class AnswerCall(ToolArguments):
    """Nothing more is needed for the answer."""

    tool: Literal["answer"]


AnyCall = SearchCall | FiguresCall | ReadCall | EarlierCall | AskBackCall | AnswerCall
_CALL: TypeAdapter[AnyCall] = TypeAdapter(
    Annotated[AnyCall, Field(discriminator="tool")]
)
TOOLS = tuple(
    ToolSpec(name, tool["description"], tool["parameters"])
    for name, tool in read_table(__package__, "calls").items()
)
TOOLS_AS_SENT = json.dumps(
    [[one.name, one.description, one.parameters] for one in TOOLS]
)
_MOST = {
    (tool.name, name): field["maxItems"]
    for tool in TOOLS
    for name, field in tool.parameters["properties"].items()
    if "maxItems" in field
}
"""The most values of a list, by its tool and field."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model wants to look for. ``text``: its calls, as the next prompt repeats
    them. ``notes``: what of its reply was left out, and why.
    """

    calls: Sequence[AnyCall] = ()
    text: str = ""
    notes: Sequence[str] = ()

    @property
    def more(self) -> bool:
        """True if it wants to see what is found before it is written from."""
        return any(call.more for call in self.calls)

    @property
    def is_enough(self) -> bool:
        """True if it calls nothing but the answer."""
        return all(isinstance(call, AnswerCall) for call in self.calls)

    @property
    def queries(self) -> list[str]:
        """All that is searched for, each once."""
        queries: list[str] = []
        for call in self.calls:
            if isinstance(call, SearchCall):
                queries += call.queries
        return list(dict.fromkeys(queries))


NO_PLAN = Plan()


def plan_shape(*, takes_tools: bool) -> Shape[Plan]:
    """Return the shape of a reply that calls tools, ``takes_tools``: by calls that its
    server knows.
    """
    kinds = []
    for tool in TOOLS:
        fields = {"tool": {"enum": [tool.name]}, **tool.parameters["properties"]}
        kinds.append({"type": "object", "properties": fields, "required": ["tool"]})
    schema = {
        "title": "calls",
        "type": "object",
        "properties": {"calls": {"type": "array", "items": {"anyOf": kinds}}},
        "required": ["calls"],
    }
    way = "Call the tools again." if takes_tools else as_json_in_words()
    repair = f"Your reply has no calls that can be read. {way}"
    return Shape(schema, read_plan, repair, reasons_of)


def as_json_in_words() -> str:
    """Return how calls are written by a model without tools."""
    fields = [
        f"{tool.name}({', '.join(tool.parameters['properties'])})" for tool in TOOLS
    ]
    return (
        'Write only JSON with the calls that you want, like {"calls": [{"tool": '
        f'"search", "queries": ["..."]}}]}}. Their fields: {"; ".join(fields)}.'
    )


def read_plan(reply: str) -> Plan | None:
    """Return the calls of a reply, None where it has none that can be read."""
    calls, notes = _read_calls(reply)
    if not calls:
        return None
    written = [call.model_dump(mode="json", exclude_unset=True) for call in calls]
    return Plan(calls, json.dumps({"calls": written}, ensure_ascii=False), notes)


def reasons_of(reply: str) -> str:
    """Return why calls of a reply cannot be read, "" where it has none."""
    return "\n".join(_read_calls(reply)[1])


def _read_calls(reply: str) -> tuple[list[AnyCall], list[str]]:
    """Return the calls of a reply, and notes on what was left out of them."""
    calls: list[AnyCall] = []
    notes: list[str] = []
    for fields in _written_calls(json_values(readable(reply))):
        arguments = _arguments_of(fields, notes)
        if len(calls) == MAX_CALLS:
            notes.append(f"Only the first {MAX_CALLS} calls were made.")
            break
        try:
            calls.append(_CALL.validate_python(arguments))
        except ValidationError as error:
            wrong = error.errors()[0]
            field = ".".join(map(str, wrong["loc"]))
            notes.append(f"Not made: {field}: {wrong['msg']}.")
    return calls, notes


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


def _arguments_of(fields: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """Return the arguments of a call, its lists no longer than its tool takes; a note
    is added on what that leaves out.
    """
    tool = str(fields.get("tool"))
    arguments = fields.get("arguments", fields)
    if isinstance(arguments, str):
        arguments = next(iter(json_values(arguments)), {})
    if not isinstance(arguments, Mapping):
        arguments = {}
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        given[name] = value
        most = _MOST.get((tool, name))
        if most is not None and isinstance(value, list) and len(value) > most:
            notes.append(f"{tool}: only the first {most} {name} were taken.")
            given[name] = value[:most]
    return {**given, "tool": tool}

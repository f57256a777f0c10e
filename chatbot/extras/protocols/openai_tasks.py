"""What front ends ask for by OpenAI's protocol besides answers: titles and tags of a
conversation, and answers in the form of a JSON schema. None needs a search.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ...domain import Context, Message, Prompt, RequestContext, Usage
from ...domain.protocols import ChatModel
from ...models.replies import Shape, ask
from ...models.replies.readers import json_values
from ...models.replies.stream import complete

__all__ = ["answer_task", "fill_form", "is_task", "requested_form"]

_TASK = re.compile(r"\s*#{2,4} Task:", re.IGNORECASE)
_FIELD = re.compile(r'\{\s*"(\w+)"\s*:\s*([\["])')
"""The first field of the JSON that a task asks for: a list or a text."""
_FIRST_WORDS = re.compile(r"<chat_history>\s*(?:USER:)?\s*([^\n<]+)", re.IGNORECASE)
_TASK_RULES = "Do this task of a chat program in few words. Write only its output."
_FORM_RULES = (
    "Put an answer into the form of a JSON schema. Use only what the answer says; what "
    "it does not say is null or empty. Write only the JSON."
)
_REPAIR = "That is no JSON of this schema. Write only the JSON."


def is_task(text: str) -> bool:
    """Return whether a message is a task of a front end (Open WebUI begins these with
    "### Task:"), not a question to the reports.
    """
    return _TASK.match(text) is not None


def answer_task(
    text: str, model: ChatModel, request: RequestContext
) -> tuple[str, Usage]:
    """Return the output of a task, and what it cost. Without a language model a title
    is the first words of the conversation, and a list is empty. Raises ChatModelError,
    BudgetExhaustedError.
    """
    if not model.is_language_model:
        return _by_rule(text), Usage()
    messages = (Message("system", _TASK_RULES), Message("user", text))
    reply = complete(model, Prompt(messages, text, Context(), is_plan=True), request)
    return reply.text, reply.usage


def _by_rule(text: str) -> str:
    first = _FIRST_WORDS.search(text)
    title = " ".join(first[1].split()[:6]) if first else "Reports"
    field = _FIELD.search(text)
    if field is None:
        return title
    value: str | list[str] = [] if field[2] == "[" else title
    return json.dumps({field[1]: value}, ensure_ascii=False)


def requested_form(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the JSON schema of a ``response_format``, {} for any JSON object; None
    where the answer is to be text.
    """
    kind = (response_format or {}).get("type")
    if response_format is None or kind not in {"json_schema", "json_object"}:
        return None
    named = response_format.get("json_schema")
    schema = named.get("schema") if isinstance(named, Mapping) else None
    return dict(schema) if isinstance(schema, Mapping) else {}


def fill_form(
    answer: str, schema: Mapping[str, Any], model: ChatModel, request: RequestContext
) -> tuple[str, Usage]:
    """Return an answer as JSON of this schema, and what it cost; "" where the model
    writes none. The schema is not sent as one: a server that refuses it would get none
    of ours any more. Raises ChatModelError, BudgetExhaustedError.
    """
    shape = Shape[str](None, _reader(schema), _REPAIR)
    text = f"Schema:\n{json.dumps(schema)}\n\nAnswer:\n{answer}"
    messages = (Message("system", _FORM_RULES), Message("user", text))
    prompt = Prompt(messages, answer, Context(), is_plan=True)
    reply = ask(model, prompt, shape, request, stage="response_format")
    if reply.error is not None:
        raise reply.error
    return reply.value or "", Usage.total(step.usage for step in reply.steps)


def _reader(schema: Mapping[str, Any]) -> Callable[[str], str | None]:
    """Return what reads a reply: None for one without an object that has the required
    fields.
    """
    required = set(schema.get("required", ()))

    def read(reply: str) -> str | None:
        for value in json_values(reply):
            if isinstance(value, Mapping) and required <= set(value):
                return json.dumps(value, ensure_ascii=False)
        return None

    return read

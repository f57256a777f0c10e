"""The reports by OpenAI's protocol, for chat front ends and libraries that support
nothing else.

Written after OpenAI's own description of its API (openai-openapi) and its Python SDK.
The client keeps its conversation: nothing is stored. A model's name is a mode, and may
carry a scope: `report-chat:Kenya:2023`.
"""

import base64
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from flask import Response, jsonify, request
from pydantic import Field

from ...answering.conversation import Place, Saved
from ...answering.modes import MODES
from ...app.web.asking import (
    QUESTION_ERRORS,
    ChatRequest,
    question_stream,
    stream_response,
)
from ...app.web.callers import caller
from ...app.web.routes import EVENTS, JSON, OpenBody, Views, services
from ...app.web.streaming import Item, connection, refuse_more
from ...database.core import Json
from ...domain import Answer, SearchHit, SourcesEvent, TokenEvent
from ...domain.chat import QUERY_CHARACTERS
from ...domain.errors import LONGEST_SHOWN, InvalidRequestError, NotFoundError
from ...domain.json import to_json
from ...domain.request import RequestContext
from ...domain.validation import parse
from ...questions.reading import COUNTRY, YEAR
from ...search.compression import embedded

openai_protocol = Views("openai", __name__)
NAME = "report-chat"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
IGNORED = ("tools", "functions")


class MessagePart(OpenBody):
    """A text part of a message; images and sounds are not read."""

    type: Literal["text"]
    text: str


class ChatMessage(OpenBody):
    """A message. System messages are ignored: the product has its own."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(OpenBody):
    """``include_usage``: a last piece that has nothing but the usage."""

    include_usage: bool = False


class CompletionRequest(OpenBody):
    """The fields of OpenAI's request that have an effect. What steers a model's writing
    (temperature, ...) has none.
    """

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    metadata: Mapping[str, str] | None = None
    n: Literal[1] | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: Mapping[str, Any] | None = None

    def to_request(self) -> ChatRequest:
        """Return this API's own request for the same question. Raises
        InvalidRequestError, NotFoundError.
        """
        last = self.messages[-1]
        if last.role != "user" or not last.text.strip():
            raise InvalidRequestError.for_field(
                "messages", "the last one must be a question of the user."
            )
        mode, filters = mode_and_scope(self.model)
        previous = [
            {"role": one.role, "content": one.text[:QUERY_CHARACTERS]}
            for one in self.messages[:-1]
            if one.role in {"user", "assistant"}
        ]
        for name, text in (self.metadata or {}).items():
            try:  # metadata are texts: a value, or several as a JSON list
                filters[name] = json.loads(text) if text.startswith("[") else [text]
            except (ValueError, RecursionError):
                message = "a value that begins with [ must be a list in JSON."
                raise InvalidRequestError.for_field("metadata", message) from None
        body = {
            "query": last.text,
            "filters": filters or None,
            "mode": mode,
            "previous_messages": previous,
        }
        return parse(ChatRequest, body)

    @property
    def warning(self) -> str:
        """Names the fields of the request that have no effect; "" where all have
        one.
        """
        warnings = []
        if given := [name for name in IGNORED if getattr(self, name)]:
            warnings.append(
                f"{' and '.join(given)}: not called here, the reports are searched "
                "for every question."
            )
        if self.response_format and self.response_format.get("type") != "text":
            warnings.append(
                "response_format: an answer is Markdown that cites its passages, here."
            )
        return " ".join(warnings)


class EmbeddingRequest(OpenBody):
    """Texts, not tokens: those of another model's tokenizer mean nothing here."""

    input: str | Annotated[list[str], Field(min_length=1, max_length=256)]
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, strict=False)


@openai_protocol.get("/v1/models", need="read", ignores_foreign_keys=True, returns=Json)
def list_models() -> Response:
    """List the models: one for each way of answering, and the embedding model."""
    names = (*_names(), services().runtime.embedder.model_id)
    return jsonify({"object": "list", "data": list(map(_model, names))})


@openai_protocol.get(
    "/v1/models/<path:name>", need="read", ignores_foreign_keys=True, returns=Json
)
def get_model(name: str) -> Response:
    """Get a model."""
    if name != services().runtime.embedder.model_id:
        mode_and_scope(name)
    return jsonify(_model(name))


@openai_protocol.post(
    "/v1/chat/completions",
    need="read",
    ignores_foreign_keys=True,
    waits_for_model=True,
    returns=Json,
    media=(JSON, EVENTS),
    errors=QUESTION_ERRORS,
    example={
        "model": "report-chat:Kenya",
        "messages": [{"role": "user", "content": "How fast does it grow?"}],
    },
)
def complete_chat(body: CompletionRequest) -> Response:
    """Answer a question by OpenAI's protocol.

    A `chat.completion`, or with `stream` its pieces as server-sent events. Citations
    are annotations, and complete in `report_chat`. See docs/extras/openai.md.
    """
    refuse_more()
    writing = CompletionWriter(body, request.url_root)
    stream = question_stream(
        body.to_request(),
        Place(kept=False),
        write=writing.write,
        may_degrade=False,
    )
    return (
        stream_response(stream)
        if body.stream
        else jsonify(writing.whole(stream.whole()))
    )


@openai_protocol.post(
    "/v1/embeddings",
    need="read",
    ignores_foreign_keys=True,
    waits_for_model=True,
    returns=Json,
    errors=(404,),
)
def embed_texts(body: EmbeddingRequest) -> Response:
    """Embed texts with the model that embeds the passages."""
    refuse_more()
    embedder = services().runtime.embedder
    if body.model != embedder.model_id:
        valid = f"Valid: {embedder.model_id}."
        raise NotFoundError(
            f"There is no embedding model {body.model[:LONGEST_SHOWN]!r} here. {valid}"
        )
    if body.dimensions not in {None, embedder.dimensions}:
        raise InvalidRequestError.for_field(
            "dimensions", f"must be {embedder.dimensions}.", [embedder.dimensions]
        )
    texts = [body.input] if isinstance(body.input, str) else body.input
    counts = [embedder.count_tokens(text) for text in texts]
    if not all(text.strip() for text in texts) or max(counts) > embedder.max_tokens:
        raise InvalidRequestError.for_field(
            "input", f"each text must have 1 to {embedder.max_tokens} tokens."
        )
    vectors = embedded(
        embedder, texts, RequestContext(cancel=connection().client, caller=caller())
    )
    data = []
    for index, vector in enumerate(vectors):
        embedding: Any = vector.tolist()
        if body.encoding_format == "base64":
            embedding = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": embedding})
    usage = {"prompt_tokens": sum(counts), "total_tokens": sum(counts)}
    return jsonify(
        {"object": "list", "data": data, "model": body.model, "usage": usage}
    )


def form_error(body: Json, status: int) -> Json:
    """Return an error as OpenAI's clients read it."""
    error = body["error"]
    kind = "invalid_request_error"
    if status == 429:
        kind = "rate_limit_error"
    if status >= 500:
        kind = "server_error"
    fields = [detail["field"] for detail in error["details"] if "field" in detail]
    param = fields[0] if fields else None
    return {"error": {**error, "type": kind, "param": param}}


openai_protocol.form_errors("/v1/", form_error)


def mode_and_scope(name: str) -> tuple[str | None, dict[str, Any]]:
    """Read `report-chat-MODE:VALUE:VALUE`: the mode, None = the default one, and the
    filters by years and countries. Raises NotFoundError: there is no such model.
    """
    model_name, *values = name.split(":")
    if model_name not in _names():
        raise NotFoundError(
            f"There is no model {name[:100]!r}. Valid: {', '.join(_names())}."
        )
    filters: dict[str, Any] = {}
    for value in filter(None, values):
        filters.setdefault(YEAR if value.isdecimal() else COUNTRY, []).append(value)
    return model_name.removeprefix(NAME).removeprefix("-") or None, filters


def _names() -> list[str]:
    return [NAME, *(f"{NAME}-{name}" for name in MODES.names())]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": NAME}


class CompletionWriter:
    def __init__(self, body: CompletionRequest, root: str) -> None:
        self._body = body
        self._root = root.rstrip("/")
        self._about = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": body.model,
        }
        self._text = ""
        self._has_begun = False

    def whole(self, saved: Saved) -> dict[str, Any]:
        """Return the answer as a `chat.completion`."""
        answer = saved.answer
        message = {
            "role": "assistant",
            "content": answer.response,
            "refusal": None,
            "annotations": self._annotations(answer.response, _hits(answer)),
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _reason(answer),
        }
        completion = {
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(answer),
        }
        return {**self._about, **completion, "report_chat": self._extension(answer)}

    def write(self, event: Item) -> Iterator[str]:
        """Yield the `chat.completion.chunk`s of an event, after the last one
        `[DONE]`.
        """
        if isinstance(event, SourcesEvent) and not self._has_begun:
            self._has_begun = True
            yield self._piece({"role": "assistant", "content": ""})
        elif isinstance(event, TokenEvent):
            self._text += event.text
            yield self._piece({"content": event.text})
        elif isinstance(event, Saved):
            answer = event.answer
            last = {"annotations": self._annotations(self._text, _hits(answer))}
            yield self._piece(
                last, finish_reason=_reason(answer), report_chat=self._extension(answer)
            )
            if self._body.stream_options and self._body.stream_options.include_usage:
                yield self._line({"choices": [], "usage": _usage(answer)})
            yield "data: [DONE]\n\n"

    def _piece(
        self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any
    ) -> str:
        return self._line(
            {
                "choices": [
                    {"index": 0, "delta": delta, "finish_reason": finish_reason}
                ],
                **more,
            }
        )

    def _line(self, fields: dict[str, Any]) -> str:
        chunk = {**self._about, "object": "chat.completion.chunk", **fields}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"

    def _annotations(
        self, text: str, sources: Mapping[int, SearchHit]
    ) -> list[dict[str, Any]]:
        """Return an annotation for each citation in the text, with the address of its
        passage.
        """
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": group.start(),
                    "end_index": group.end(),
                    "title": hit.chunk.title,
                    "url": f"{self._root}/passages/{hit.chunk.id}",
                },
            }
            for group in NUMBERS.finditer(text)
            for number in map(int, group[1].split(","))
            if (hit := sources.get(number)) is not None
        ]

    def _extension(self, answer: Answer) -> dict[str, Any]:
        scope = to_json(answer.scope)
        citations = to_json(answer)["citations"]
        warning = {"warning": self._body.warning} if self._body.warning else {}
        return {
            "answered": answer.answered,
            "citations": citations,
            "scope": scope,
            **warning,
        }


def _hits(answer: Answer) -> dict[int, SearchHit]:
    return {citation.number: citation.hit for citation in answer.citations}


def _reason(answer: Answer) -> str:
    return "length" if answer.trace.truncated else "stop"


def _usage(answer: Answer) -> dict[str, int]:
    prompt = answer.trace.usage.prompt_tokens
    completion = answer.trace.usage.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }

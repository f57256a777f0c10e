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
from importlib import import_module
from typing import Annotated, Any, Literal

from flask import Response, jsonify, request
from pydantic import ConfigDict, Field

from ...answering.conversation import Place, Saved
from ...answering.modes import MODES
from ...app.web.asking import (
    QUESTION_ERRORS,
    ChatRequest,
    question_stream,
    stream_response,
)
from ...app.web.callers import caller
from ...app.web.rates import question_slot
from ...app.web.routes import EVENTS, JSON, OpenBody, Views, services
from ...app.web.streaming import Item, connection, refuse_more
from ...database.core import Json
from ...domain import Answer, SearchHit, SourcesEvent, TokenEvent, Usage
from ...domain.chat import QUERY_CHARACTERS
from ...domain.errors import LONGEST_SHOWN, InvalidRequestError, NotFoundError
from ...domain.json import to_json
from ...domain.request import RequestContext
from ...domain.validation import parse
from ...models.replies.stream import MAX_READ_CHARACTERS
from ...questions.reading import COUNTRY, YEAR
from ...search.compression import embedded
from ...search.scope import GROUP
from .openai_tasks import answer_task, fill_form, is_task, requested_form

openai_protocol = Views("openai", __name__)
NAME = "report-chat"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
IGNORED = ("tools", "functions")
ENCODING = "cl100k_base"
"""The tokens that clients make for an embedding model which they do not know."""


class MessagePart(OpenBody):
    """A part of a message; pictures and sounds are taken, but not read."""

    type: str
    text: str = ""


class ChatMessage(OpenBody):
    """A message. System messages are ignored: the product has its own."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[MessagePart] | None = None

    @property
    def parts(self) -> list[MessagePart]:
        return self.content if isinstance(self.content, list) else []

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""


class StreamOptions(OpenBody):
    """``include_usage``: a last piece that has nothing but the usage."""

    include_usage: bool = False


class CompletionRequest(OpenBody):
    """The fields of OpenAI's request that have an effect. What steers a model's writing
    (temperature, ...) has none; fields that OpenAI does not have come back as they are.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    metadata: Mapping[str, Any] | None = None
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
        fields = {*services().settings.filter_fields, GROUP}
        for name, text in (self.metadata or {}).items():
            if name not in fields or not isinstance(text, str):
                continue  # the client's own
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
        has_model = services().models.chat.is_language_model
        if requested_form(self.response_format) is not None and not has_model:
            warnings.append(
                "response_format: without a language model an answer is Markdown."
            )
        types = {part.type for one in self.messages for part in one.parts}
        if types - {"text"}:
            warnings.append(f"{', '.join(sorted(types - {'text'}))}: not read here.")
        return " ".join(warnings)


class EmbeddingRequest(OpenBody):
    """Texts; or tokens, which LangChain's client sends, of `ENCODING`."""

    input: (
        str
        | Annotated[list[str], Field(min_length=1, max_length=256)]
        | Annotated[list[list[int]], Field(min_length=1, max_length=256)]
        | Annotated[list[int], Field(min_length=1, max_length=8_192)]
    )
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, strict=False)


@openai_protocol.get("/v1/models", need="read", ignores_foreign_keys=True, returns=Json)
def list_models() -> Response:
    """List the models: one for each way of answering, and the embedding model."""
    names = (*_names(), services().runtime.text_embedder.model_id)
    return jsonify({"object": "list", "data": list(map(_model, names))})


@openai_protocol.get(
    "/v1/models/<path:name>", need="read", ignores_foreign_keys=True, returns=Json
)
def get_model(name: str) -> Response:
    """Get a model."""
    if name != services().runtime.text_embedder.model_id:
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
    writing = CompletionWriter(body, request.url_root, _context())
    if is_task(body.messages[-1].text):
        return _do_task(body, writing)
    stream = question_stream(
        body.to_request(),
        Place(kept=False),
        write=writing.write,
        may_degrade=False,
        is_streamed=body.stream,
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
    """Embed texts with the model that embeds the passages, or the built-in one where
    that runs in MongoDB.
    """
    refuse_more()
    embedder = services().runtime.text_embedder
    if body.model != embedder.model_id:
        valid = f"Valid: {embedder.model_id}."
        raise NotFoundError(
            f"There is no embedding model {body.model[:LONGEST_SHOWN]!r} here. {valid}"
        )
    if body.dimensions not in {None, embedder.dimensions}:
        raise InvalidRequestError.for_field(
            "dimensions", f"must be {embedder.dimensions}.", [embedder.dimensions]
        )
    texts = _texts(body.input)
    counts = [embedder.count_tokens(text) for text in texts]
    if not all(text.strip() for text in texts) or max(counts) > embedder.max_tokens:
        raise InvalidRequestError.for_field(
            "input", f"each text must have 1 to {embedder.max_tokens} tokens."
        )
    vectors = embedded(embedder, texts, _context())
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


def _context() -> RequestContext:
    """Return the context of the current request."""
    return RequestContext(cancel=connection().client, caller=caller())


def _do_task(body: CompletionRequest, writing: "CompletionWriter") -> Response:
    """Answer a task of a front end with one call of the small model, or by rule."""
    with question_slot(services(), caller()):
        text = body.messages[-1].text[:MAX_READ_CHARACTERS]
        output, usage = answer_task(text, services().models.small, _context())
    if not body.stream:
        return jsonify(writing.whole_of(output, usage))
    return Response(writing.pieces_of(output, usage), mimetype=EVENTS)


def _texts(given: str | list[str] | list[int] | list[list[int]]) -> list[str]:
    """Return the texts of a request. Raises InvalidRequestError: tokens that cannot be
    read.
    """
    if isinstance(given, str):
        return [given]
    texts = [one for one in given if isinstance(one, str)]
    if len(texts) == len(given):
        return texts
    lists = [one for one in given if isinstance(one, list)]
    return _decoded(lists or [[one for one in given if isinstance(one, int)]])


def _decoded(lists: list[list[int]]) -> list[str]:
    try:
        encoding = import_module("tiktoken").get_encoding(ENCODING)
        return [encoding.decode(tokens) for tokens in lists]
    except ImportError:
        problem = "the Python package tiktoken is not installed here"
    except (KeyError, OverflowError):
        problem = f"a number is no token of {ENCODING}"
    message = f"{problem}: send texts (LangChain: check_embedding_ctx_length=False)."
    raise InvalidRequestError.for_field("input", message)


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
    """Writes an answer as OpenAI's API does. ``request`` pays for a second call, which
    puts the answer into the form that the client asks for.
    """

    def __init__(
        self, body: CompletionRequest, root: str, request: RequestContext
    ) -> None:
        self._body = body
        self._request = request
        model = services().models.small
        self._model = model
        self._schema: Mapping[str, Any] | None = None
        if model.is_language_model:
            self._schema = requested_form(body.response_format)
        self._root = root.rstrip("/")
        self._about = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": body.model,
        }
        if body.metadata is not None:
            self._about["metadata"] = body.metadata
        self._warning = body.warning
        self._text = ""
        self._has_begun = False

    def whole(self, saved: Saved) -> dict[str, Any]:
        """Return the answer as a `chat.completion`."""
        answer = saved.answer
        text, usage = self._in_form(answer)
        completion = self.whole_of(text, usage, _reason(answer))
        message = completion["choices"][0]["message"]
        message["annotations"] = self._annotations(text, _hits(answer))
        return {**completion, "report_chat": self._extension(answer)}

    def whole_of(
        self, text: str, usage: Usage, finish_reason: str = "stop"
    ) -> dict[str, Any]:
        """Return a text as a `chat.completion`."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        return {
            **self._about,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(usage),
        }

    def pieces_of(self, text: str, usage: Usage) -> Iterator[str]:
        """Yield a text as the pieces of a stream."""
        yield self._piece({"role": "assistant", "content": text})
        yield self._piece({}, finish_reason="stop")
        yield from self._end(usage)

    def _in_form(self, answer: Answer) -> tuple[str, Usage]:
        """Return the text of an answer in the form that the client asks for, and what
        both cost.
        """
        spent = answer.trace.usage
        if self._schema is None:
            return answer.response, spent
        text, usage = fill_form(
            answer.response, self._schema, self._model, self._request
        )
        if not text:
            self._warning = "response_format: the model wrote no JSON."
        return text or answer.response, spent + usage

    def write(self, event: Item) -> Iterator[str]:
        """Yield the `chat.completion.chunk`s of an event, after the last one
        `[DONE]`.
        """
        if isinstance(event, SourcesEvent) and not self._has_begun:
            self._has_begun = True
            yield self._piece({"role": "assistant", "content": ""})
        elif isinstance(event, TokenEvent) and self._schema is None:
            self._text += event.text
            yield self._piece({"content": event.text})
        elif isinstance(event, Saved):
            answer = event.answer
            text, usage = self._in_form(answer)
            if self._schema is not None:
                self._text = text
                yield self._piece({"content": text})
            last = {"annotations": self._annotations(self._text, _hits(answer))}
            yield self._piece(
                last, finish_reason=_reason(answer), report_chat=self._extension(answer)
            )
            yield from self._end(usage)

    def _end(self, usage: Usage) -> Iterator[str]:
        if self._body.stream_options and self._body.stream_options.include_usage:
            yield self._line({"choices": [], "usage": _usage(usage)})
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
        extension = {
            "answered": answer.answered,
            "citations": citations,
            "scope": scope,
        }
        if self._warning:
            extension["warning"] = self._warning
        if self._body.model_extra:
            extension["request"] = self._body.model_extra
        return extension


def _hits(answer: Answer) -> dict[int, SearchHit]:
    return {citation.number: citation.hit for citation in answer.citations}


def _reason(answer: Answer) -> str:
    return "length" if answer.trace.truncated else "stop"


def _usage(usage: Usage) -> dict[str, int]:
    prompt = usage.prompt_tokens
    completion = usage.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }

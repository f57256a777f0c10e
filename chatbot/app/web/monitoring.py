"""The log of requests and errors, and what else observes them; health and readiness.

A request has ended when the last byte of its response is sent.
"""

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from http import HTTPMethod
from typing import Any, Literal, NotRequired, Protocol, TypeVar

from flask import Response, current_app, g, jsonify, make_response, request
from typing_extensions import TypedDict

from ...database.core import Json
from ...database.failures import FULL
from ...domain import DocumentRecord, Embedder
from ...domain.errors import (
    ChatbotError,
    DatabaseError,
    DependencyError,
)
from ...domain.protocols import model_in_store
from .routes import PAGE, Views, answer_type, samples, services

monitoring = Views("monitoring", __name__)
log = logging.getLogger(__name__)
T = TypeVar("T")
request_log = logging.getLogger("chatbot.requests")
NO_ROUTE, OTHER_METHOD = "(none)", "(other)"
"""Stand for an unknown path and an unknown method, so that a client cannot make up new
time series of an observer.
"""


class ErrorBody(TypedDict):
    """``code`` is stable; ``details`` name the fields with their valid values, or a
    remedy. Below `/v1` it also has ``type`` and ``param``, which OpenAI's clients read.
    """

    code: str
    message: str
    details: list[dict[str, Any]]
    request_id: str
    type: NotRequired[str]
    param: NotRequired[str | None]


class Error(TypedDict):
    """The body of every answer with a status from 400 on."""

    error: ErrorBody


def error_body(error: Exception) -> dict[str, Any]:
    """Return the body of an answer or `error` event; only administrators get a
    dependency's own words.
    """
    failure = failure_of(error)
    body = body_of(failure.code, failure.message, failure.details)
    if (
        isinstance(failure, DependencyError)
        and failure.said
        and "caller" in g
        and g.caller.runs_the_program
    ):
        body["error"]["details"][0]["said"] = failure.said
    return body


def failure_of(error: Exception) -> ChatbotError:
    """Return what the client gets; log a bug with its trace, and a failed dependency,
    under the request's id.
    """
    if not isinstance(error, ChatbotError):
        log.error("Unexpected error in request %s", _request_id(), exc_info=error)
        return ChatbotError(
            "Something went wrong here. The request id helps to find it in the log."
        )
    if error.status > 500:
        log.warning(
            "Request %s: %s",
            _request_id(),
            error.in_full if isinstance(error, DependencyError) else error.message,
        )
    return error


def guarded(work: Callable[[], T], failed: Callable[[str], Exception]) -> T:
    """Return what ``work`` returns. Raises an error of ours as it is, and for any other
    what ``failed`` makes of a message that clients may read.
    """
    try:
        return work()
    except Exception as error:
        failure = failure_of(error)
        if failure is error:
            raise
        raise failed(failure.message) from error


def body_of(code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of an answer with an error (`Error`)."""
    return {
        "error": {
            "code": code,
            "message": message,
            "details": details,
            "request_id": _request_id(),
        }
    }


def _request_id() -> str:
    if g:
        return str(g.get("request_id", ""))
    return ""


class Observation(Protocol):
    """What an observer sees of one request."""

    def question(self) -> AbstractContextManager[Callable[[object], None]]:
        """Return the time of a question; the function that it gives takes each
        event.
        """

    def end(self, status: int, seconds: float) -> None:
        """Note that the response is sent, or given up."""


class Observer(Protocol):
    """Counts or traces what one application does, beside the log."""

    def waiting(self) -> AbstractContextManager[object]:
        """Return the time for which a question waits for its turn."""

    def begin(self, request_id: str, method: str, route: str) -> Observation:
        """Observe the current request."""

    def close(self) -> None:
        """Send what is not sent yet."""


class NoObserver:
    """An observer, and its observation of any request: nothing is counted."""

    def waiting(self) -> AbstractContextManager[object]:
        return nullcontext()

    def begin(self, request_id: str, method: str, route: str) -> Observation:
        return self

    def question(self) -> AbstractContextManager[Callable[[object], None]]:
        return nullcontext(lambda event: None)

    def end(self, status: int, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass


class ObservedRequest:
    """The current request, without its content: no query string, no body."""

    def __init__(self, request_id: str) -> None:
        self._id = request_id
        self._began = time.perf_counter()
        self._method = request.method
        self._path = request.path
        method = self._method
        if method not in HTTPMethod.__members__:
            method = OTHER_METHOD
        route = NO_ROUTE
        if request.url_rule is not None:
            route = request.url_rule.rule
        observer: Observer = current_app.extensions["observer"]
        self._observation = observer.begin(request_id, method, route)
        self.question = self._observation.question

    def end(self, status: int, owner: str) -> None:
        """Log it when its response is sent, or given up. ``owner``: whose request it
        is, "" = not known.
        """
        seconds = time.perf_counter() - self._began
        self._observation.end(status, seconds)
        digest = ""
        if owner:
            # Twelve digits tell owners apart and do not say who they are.
            digest = hashlib.sha256(owner.encode()).hexdigest()[:12]
        line = {
            "request_id": self._id,
            "method": self._method,
            "path": self._path,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "owner": digest,
        }
        request_log.info(
            (
                "%(method)s %(path)r %(status)d in %(ms)s ms, request %(request_id)s "
                "of [%(owner)s]"
            ),
            line,
        )


@monitoring.get(
    "/health",
    need="nothing",
    returns=answer_type("Health", status=Literal["ok"]),
    is_counted=False,
)
def check_health() -> Json:
    """Check that the process lives; nothing else is checked."""
    return {"status": "ok"}


class Dependency(TypedDict):
    name: str
    ok: bool
    detail: str


READINESS = answer_type(
    "Readiness",
    ready=bool,
    full=bool,
    dependencies=NotRequired[list[Dependency]],
    sample_data=answer_type("SampleState", ready=int, total=int),
    ingesting=bool,
)


def _described(embedder: Embedder) -> str:
    if model_in_store(embedder):
        return f"{embedder.model_id}, in MongoDB"
    return f"{embedder.model_id}, {embedder.dimensions} dimensions"


@monitoring.get(
    "/ready", need="nothing", returns=READINESS, also={503: READINESS}, is_counted=False
)
def check_readiness() -> Response:
    """Check that every dependency works and a question can be answered, whether the
    database has no space left, and how many sample reports are loaded. Administrators
    see each dependency.
    """
    loading = samples()
    dependencies = _dependencies()
    is_database_here = dependencies[0]["ok"]
    records = _sample_records() if is_database_here else []
    total = len(records)
    ingesting = False
    if loading is not None:
        total = max(total, loading.total)
        ingesting = loading.running
        if loading.error:
            dependencies.append(
                {"name": "sample_data", "ok": False, "detail": loading.error}
            )
    # Before all samples can be searched, questions get a 503.
    states = {record.status for record in records}
    waiting = ingesting and (not states or "pending" in states)
    ok = not waiting and all(dependency["ok"] for dependency in dependencies)
    full = False
    if is_database_here:  # a full disk stops uploads, not answers
        disk, full = _disk()
        dependencies.append(disk)
    ready = [record for record in records if record.status == "ready"]
    body: dict[str, object] = {
        "ready": ok,
        "full": full,
        "sample_data": {"ready": len(ready), "total": total},
        "ingesting": ingesting,
    }
    if _may_see_dependencies():
        body["dependencies"] = dependencies
    return make_response(jsonify(body), 200 if ok else 503)


# The names that Kubernetes' own components use.
for _path, _view in (("/livez", check_health), ("/readyz", check_readiness)):
    monitoring.add_url_rule(_path, _path[1:], PAGE(_view))


def _dependencies() -> list[Dependency]:
    """Return the state of each dependency, the database first."""
    product = services()
    storage = product.storage
    return [
        _ping("database", storage.database.ping),
        _ping("embedder", lambda: _described(product.runtime.embedder)),
        # Built here, with why it was chosen: a store that cannot be built is a finding,
        # not a crash.
        _ping(
            "vector_search",
            lambda: f"{product.runtime.store.ping()} ({storage.engine.detail})",
        ),
        _ping("chat_model", lambda: product.models.chat.model_id),
    ]


def _may_see_dependencies() -> bool:
    from .callers import caller

    try:
        return caller().may("admin") and not caller().limit
    except ChatbotError:  # the key is unknown, or the database does not answer
        return False


def _sample_records() -> list[DocumentRecord]:
    every = services().readers.everything().documents.all()
    return [record for record in every if record.sample]


def _disk() -> tuple[Dependency, bool]:
    """Return the state of the space for files, and whether it is full."""
    try:
        detail = services().storage.files.describe_space()
    except DatabaseError as error:
        is_full = error.reason == FULL
        return {"name": "disk", "ok": False, "detail": error.message}, is_full
    return {"name": "disk", "ok": True, "detail": detail}, False


def _ping(name: str, ask: Callable[[], str]) -> Dependency:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}

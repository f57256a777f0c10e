"""A request: its body, checked against a pydantic model (`parse`), and its context:
caller, cancellation, deadline and usage, an argument, so that each signature says what
can be cancelled and is counted; and API keys as they are kept.
"""

import re
import threading
import time
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from json import dumps
from sched import scheduler
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from .costs import Usage
from .errors import InvalidRequestError
from .scope import Range, Scope, Values

Model = TypeVar("Model", bound=BaseModel)
KeyRole = Literal["feed", "read", "write", "admin"]
Need = Literal["nothing", "feed", "read", "write", "admin"]
"""The role that a route needs; each role may do what those before it may."""
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)
NEEDS: tuple[Need, ...] = get_args(Need)
PERSON = "person:"
"""Before the id of a person who signed in; they get a key of their groups, which no
database stores.
"""
NO_OBJECT = "The body must be a JSON object, sent as application/json."
HALF = "half a character (a lone surrogate); send whole ones."
MAX_PROBLEMS = 100
"""Problems named for one body: each lists all valid fields, so a megabyte of wrong ones
would give fifty.
"""
IDENTIFIER, ADDRESS, NOT_BLANK = r"^[A-Za-z0-9_-]{1,64}$", r"^https?://", r"\S"
CLIENT_ID = r"^[A-Za-z0-9._:-]{1,100}$"
"""An id that a client makes itself, such as the `chatId` of seed 003's front end."""
POSITION = r"^[0-9]{1,9}$"
_SEPARATORS = re.compile(r", | or ")
"""Between the values of a literal in pydantic's message: "'up', 'down' or 'none'"."""
KINDS: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
}
"""Requirements on a value, by pydantic's name of the error."""
PROBLEMS: Mapping[str, str] = {
    "missing": "is required.",
    "string_too_long": "must have at most {max_length} characters.",
    "string_too_short": "must not be empty.",
    "too_long": "must have at most {max_length} entries.",
    "too_short": "must not be empty.",
    "greater_than_equal": "must be {ge} or more.",
    "less_than_equal": "must be {le} or less.",
    "string_unicode": f"holds {HALF}",
}
"""Messages of other errors; every minimum length is one."""
PATTERNS = {
    IDENTIFIER: "must be 1 to 64 letters, digits, _ or -.",
    CLIENT_ID: "must be 1 to 100 letters, digits, or one of . _ : -.",
    ADDRESS: "must be an address, http(s).",
    NOT_BLANK: "must not be empty.",
    POSITION: "send the `next` of the previous page.",
}


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret, of which a digest is stored. ``id``: its first
    characters, which reveal no other. It sees only ``filters`` (as in a request) and
    ``collections``; empty = everything.
    """

    id: str
    name: str
    role: KeyRole
    created_at: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    collections: tuple[str, ...] = ()
    daily_tokens: int | None = None
    requests_per_minute: int | None = None
    used_at: str = ""
    revoked_at: str = ""
    parent: str = ""
    """The id of the key that made it, and with which it ends; "" = none."""
    groups: tuple[str, ...] = ()
    """The groups of the person for whom it stands; they decide its role and limits."""

    @property
    def owner(self) -> str:
        """The owner of conversations and reports that are made with this key."""
        return self.id if self.id.startswith(PERSON) else f"key:{self.id}"

    @property
    def limit(self) -> Scope:
        return limit_of(self.filters, self.collections)


def limit_of(filters: Mapping[str, Any], collections: Sequence[str]) -> Scope:
    """Return the scope to which a key with these ``filters``, as in a request, and
    collections is limited.
    """
    conditions = {
        name: Range(**value) if isinstance(value, Mapping) else Values(tuple(value))
        for name, value in filters.items()
    }
    return Scope.of(conditions).within(collections)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request; without arguments, the command line.

    ``owner`` owns what the request creates, "" = nobody: then it belongs to all who
    know its id. Requests and tokens count for ``account``: the key, or the address of
    callers without one, who could discard a cookie.
    """

    role: Need = "admin"
    owner: str = ""
    account: str = ""
    key: ApiKey | None = None
    daily_tokens: int | None = None
    """Tokens of the chat model that its account may use in a day (UTC); None = no limit
    of its own.
    """
    limit: Scope = field(default_factory=Scope)
    """The scope that it may see; empty = everything."""

    def may(self, need: Need) -> bool:
        return NEEDS.index(self.role) >= NEEDS.index(need)

    @property
    def oversees(self) -> bool:
        """True if it sees everybody's jobs: with an administrator's key, not if ACCESS
        is merely open.
        """
        return self.key is not None and self.key.role == "admin"


ANYBODY = Caller()


class Cancellation:
    """A flag that long work checks, with callbacks for work that cannot check.
    Callbacks run in the cancelling thread: they interrupt a blocking read (a model that
    is silent).
    """

    def __init__(self, parent: "Cancellation | None" = None) -> None:
        """Cancelled with its ``parent``; cancelling it does not cancel the parent."""
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        if parent is not None:
            parent.on_cancel(self.cancel)

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        """Cancel; this cannot be undone. Each callback runs once."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when cancelled; at once if it is cancelled already."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not run a callback of `on_cancel` any more."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def wait(self, seconds: float) -> bool:
        """Sleep until cancelled, at most so long. Return whether it is cancelled."""
        return self._event.wait(seconds)


class Deadlines:
    """Cancels work whose time is up. One thread sleeps until the next deadline: a
    question sets several, and starting a thread for each took longer than its search.
    """

    def __init__(self) -> None:
        self._scheduler = scheduler(time.monotonic)
        self._changed, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, cancel: Cancellation, seconds: float) -> Callable[[], None]:
        """Cancel after so many seconds, unless the returned function is called before:
        the work is done.
        """

        def end() -> (
            None
        ):  # in a thread: what is broken off by it may have to wait for a lock
            threading.Thread(target=cancel.cancel, name="deadline", daemon=True).start()

        def forget() -> None:
            with suppress(ValueError):  # it has ended
                self._scheduler.cancel(deadline)

        deadline = self._scheduler.enter(seconds, 0, end)
        with self._lock:
            if (
                self._thread is None or not self._thread.is_alive()
            ):  # a process that was forked has none
                self._thread = threading.Thread(
                    target=self.run, name="deadlines", daemon=True
                )
                self._thread.start()
        self._changed.set()
        return forget

    def run(self) -> None:
        """Cancel what is due, without end."""
        while True:
            self._changed.wait(self._scheduler.run(blocking=False))
            self._changed.clear()


_DEADLINES = Deadlines()


class RequestMeter:
    """The usage of one question so far. Thread-safe: its searches run at the same
    time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()
        self._lookups: Counter[str] = Counter()

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the metered chat model, also of failed and cancelled
        calls.
        """
        with self._lock:
            return self._usage

    @property
    def lookups(self) -> Counter[str]:
        """Lookups of each cache by outcome: ``"embedding hit"``, ``"response miss"``,
        ...
        """
        with self._lock:
            return Counter(self._lookups)

    def add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage

    def count_lookup(self, level: str, *, hit: bool) -> None:
        with self._lock:
            self._lookups[f"{level} {'hit' if hit else 'miss'}"] += 1


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One question, or a part of it with less time or fewer calls; the parts share the
    meter.
    """

    cancel: Cancellation = field(default_factory=Cancellation)
    deadline: float | None = None
    """The `time.monotonic` when this part is cancelled; None = with the whole."""
    meter: RequestMeter = field(default_factory=RequestMeter)
    may_call: Callable[[], bool] = lambda: True
    """Called before each call of a model that is not the agents' own; an allowed call
    counts as made.
    """
    caller: Caller = ANYBODY
    cache: bool = True
    """True if models may repeat an earlier reply (`Question.cache`)."""
    private: bool = False
    """True if the answer depends on a conversation, which only the caller may see."""

    @property
    def cached_for(self) -> str:
        """The owner of the cached answers that may be used, "" = everybody's."""
        return self.caller.owner if self.private else ""

    @property
    def cancelled(self) -> bool:
        return self.cancel.cancelled

    @contextmanager
    def within(self, seconds: float | None) -> "Iterator[RequestContext]":
        """Yield a part with a time limit, None = no limit; it is cancelled with the
        whole, too.
        """
        limited, deadline = Cancellation(self.cancel), self.deadline
        with ExitStack() as ended:
            ended.callback(self.cancel.forget, limited.cancel)
            if seconds is not None:
                deadline = time.monotonic() + seconds
                ended.callback(_DEADLINES.add(limited, seconds))
            yield replace(self, cancel=limited, deadline=deadline)


def parse(model: type[Model], body: Any) -> Model:
    """Return what was sent as an instance of ``model``. Raises InvalidRequestError: it
    is no object, holds half a character, or has wrong fields: ``details`` have one
    entry for each of these.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        parsed = model.model_validate(dict(body))
    except ValidationError as error:
        by_field: dict[str, list[dict[str, Any]]] = {}
        for problem in error.errors(include_url=False, include_input=False)[
            :MAX_PROBLEMS
        ]:
            detail = _detail(model, problem)
            by_field.setdefault(detail["field"], []).append(detail)
        details = []
        for alternatives in (
            by_field.values()
        ):  # one entry for a field: all kinds that it may have, else the last one
            kinds = list(
                dict.fromkeys(detail.pop("kind", "") for detail in alternatives)
            )
            if all(kinds):
                kinds = [
                    kind
                    for kind in kinds
                    if kind != "a whole number" or "a number" not in kinds
                ]
                alternatives[-1]["message"] = f"must be {' or '.join(kinds)}."
            details.append(alternatives[-1])
        summary = "; ".join(
            f"{detail['field']}: {detail['message']}" for detail in details
        )
        raise InvalidRequestError(summary, details=details) from None
    try:
        dumps(body, ensure_ascii=False).encode()  # pydantic checks some fields only
    except UnicodeEncodeError:
        raise InvalidRequestError(f"The body holds {HALF}") from None
    return parsed


def _detail(model: type[BaseModel], problem: Any) -> dict[str, Any]:
    # Positions inside a union name its branches ("list[...]"): not the client's
    # business.
    path = [
        str(part)
        for part in problem["loc"]
        if not any(mark in str(part) for mark in "[(")
    ]
    path = [part for part in path if part not in {"str", "int", "float", "dict"}]
    field, kind, about = ".".join(path), problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        for name in path[:-1]:
            if name in model.model_fields:
                model = next(_models_in(model.model_fields[name].annotation), model)
        valid = sorted(model.model_fields)
        listed = f" Valid: {', '.join(valid)}." if valid else ""
        return {
            "field": field,
            "message": f"unknown field.{listed}",
            "valid_values": valid,
        }
    if path[:1] == ["filters"] and len(path) > 1:
        return {
            "field": ".".join(path[:2]),
            "message": "must be a value, a list of values or a range {gte, lte}.",
        }
    if kind in KINDS:
        return {
            "field": field,
            "message": f"must be {KINDS[kind]}.",
            "kind": KINDS[kind],
        }
    if kind == "literal_error":
        values = [literal_eval(value) for value in _SEPARATORS.split(about["expected"])]
        listed = ", ".join(
            value if isinstance(value, str) else dumps(value) for value in values
        )
        return {
            "field": field,
            "message": f"unknown. Valid: {listed}.",
            "valid_values": values,
        }
    if kind == "string_pattern_mismatch":
        return {"field": field, "message": PATTERNS[about["pattern"]]}
    return {
        "field": field,
        "message": PROBLEMS[kind].format(**about)
        if kind in PROBLEMS
        else str(problem["msg"]),
    }


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)

"""The context of one request: caller, cancellation, deadline, and usage; and API keys as they are stored. It is an
argument, so that each signature says what can be cancelled and is counted."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Literal, get_args

from .costs import Usage
from .scope import Range, Scope, Values

KeyRole = Literal["feed", "read", "write", "admin"]
Need = Literal["nothing", "feed", "read", "write", "admin"]
"""The role that a route needs; each role may do what those before it may."""
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)
NEEDS: tuple[Need, ...] = get_args(Need)
PERSON = "person:"
"""Before the id of a person who signed in; they get a key of their groups, which no database stores."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret, of which a digest is stored. ``id``: its first characters, which reveal no
    other. It sees only ``filters`` (as in a request) and ``collections``; empty = everything."""

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
    """Return the scope to which a key with these ``filters``, as in a request, and collections is limited."""
    conditions = {
        name: Range(**value) if isinstance(value, Mapping) else Values(tuple(value)) for name, value in filters.items()
    }
    return Scope.of(conditions).within(collections)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request; without arguments, the command line.

    ``owner`` owns what the request creates, "" = nobody: then it belongs to all who know its id. Requests and tokens
    count for ``account``: the key, or the address of callers without one, who could discard a cookie."""

    role: Need = "admin"
    owner: str = ""
    account: str = ""
    key: ApiKey | None = None
    daily_tokens: int | None = None
    """Tokens of the chat model that its account may use in a day (UTC); None = no limit of its own."""
    limit: Scope = field(default_factory=Scope)
    """The scope that it may see; empty = everything."""

    def may(self, need: Need) -> bool:
        return NEEDS.index(self.role) >= NEEDS.index(need)

    @property
    def oversees(self) -> bool:
        """True if it sees everybody's jobs: with an administrator's key, not if ACCESS is merely open."""
        return self.key is not None and self.key.role == "admin"


ANYBODY = Caller()


class Cancellation:
    """A flag that long work checks, with callbacks for work that cannot check. Callbacks run in the cancelling
    thread: they interrupt a blocking read (a model that is silent)."""

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
    """Cancels work whose time is up. One thread sleeps until the next deadline: a question sets several, and starting a
    thread for each took longer than its search."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Cancellation]] = []
        self._met: set[int] = set()
        self._numbers = count()
        self._thread: threading.Thread | None = None

    def add(self, cancel: Cancellation, seconds: float) -> int:
        """Cancel after so many seconds, unless `forget` is called with the returned number."""
        with self._changed:
            number = next(self._numbers)
            heappush(self._due, (time.monotonic() + seconds, number, cancel))
            if self._thread is None or not self._thread.is_alive():  # a process that was forked has none
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            elif self._due[0][1] == number:
                self._changed.notify()
        return number

    def forget(self, number: int) -> None:
        """Drop a deadline: the work is done or cancelled."""
        with self._changed:
            self._met.add(number)
            if 2 * len(self._met) > len(self._due) + 100:
                self._due = [entry for entry in self._due if entry[1] not in self._met]
                heapify(self._due)
                self._met.clear()

    def _watch(self) -> None:
        with self._changed:
            while True:
                while self._due and (self._due[0][1] in self._met or self._due[0][0] <= time.monotonic()):
                    _, number, cancel = heappop(self._due)
                    if number in self._met:
                        self._met.discard(number)
                    else:  # in a thread: what is broken off by it may have to wait for a lock
                        threading.Thread(target=cancel.cancel, name="deadline", daemon=True).start()
                    del cancel  # else the last one is held for as long as this sleeps
                self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)


_DEADLINES = Deadlines()


class RequestMeter:
    """The usage of one question so far. Thread-safe: its searches run at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()
        self._lookups: Counter[str] = Counter()

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the metered chat model, also of failed and cancelled calls."""
        with self._lock:
            return self._usage

    @property
    def lookups(self) -> Counter[str]:
        """Lookups of each cache by outcome: ``"embedding hit"``, ``"response miss"``, ..."""
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
    """One question, or a part of it with less time or fewer calls; the parts share the meter."""

    cancel: Cancellation = field(default_factory=Cancellation)
    deadline: float | None = None
    """The `time.monotonic` when this part is cancelled; None = with the whole."""
    meter: RequestMeter = field(default_factory=RequestMeter)
    may_call: Callable[[], bool] = lambda: True
    """Called before each call of a model that is not the agents' own; an allowed call counts as made."""
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
        """Yield a part with a time limit, None = no limit; it is cancelled with the whole, too."""
        limited, deadline = Cancellation(self.cancel), self.deadline
        number = None
        if seconds is not None:
            deadline = time.monotonic() + seconds
            number = _DEADLINES.add(limited, seconds)
        try:
            yield replace(self, cancel=limited, deadline=deadline)
        finally:
            if number is not None:
                _DEADLINES.forget(number)
            self.cancel.forget(limited.cancel)

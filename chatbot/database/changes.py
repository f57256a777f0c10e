"""The one place where rows of the library are changed, and the change announced.

`Changes.of` is the only way to write the guarded collections. In the SQLite file the
rows and the entry that announces them are one transaction. On a server an entry is
opened first ("these reports are being changed"), the rows are written, and the entry is
closed last. Open entries and the newest closed ones stand in one document, and opening
and closing are each one atomic update of it, so positions appear in order. Readers look
again, at each request, at what an open entry names.

An entry whose writer died is closed by another process, once that process has seen it
open for longer than the lease. It first changes the token in the rows of the reports,
so that the writer, if it was only paused, fails at its next swap of such a row.
"""

import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from ..domain.errors import ChatbotError, DatabaseError, DiskFullError
from .core import GUARDED, Collection, Database, Json
from .repositories.caches import MARKERS, cached, refresh

__all__ = [
    "CATALOG",
    "CHANGES",
    "FIGURES",
    "GLOSSARY",
    "IN_PLACE",
    "META",
    "ORIGINALS",
    "PASSAGES",
    "Change",
    "Changed",
    "Changes",
    "Entry",
    "KeptUntilWritten",
    "State",
    "new_token",
    "revoked",
]

log = logging.getLogger(__name__)
T = TypeVar("T")
PASSAGES = "passages"
CATALOG = "catalog"
FIGURES = "figures"
GLOSSARY = "glossary"
ORIGINALS = "originals"
ANNOUNCED_KINDS = (PASSAGES, CATALOG, FIGURES, GLOSSARY)
"""Nothing is derived from ORIGINALS, so their changes are not announced."""
IN_PLACE = "in_place"
"""Counts the entries with passages that changed and kept their ids."""
CHANGES = "changes"
META = "meta"
"""The row that holds the entries, and its collection."""
OPEN = "open:"
"""Before the ids of open entries, in the names of the row's fields."""
MAX_CLOSED_ENTRIES = 1_000
"""Closed entries that are kept, some 100 KB. A reader further behind reads
everything.
"""
MIN_LEASE_SECONDS = 60.0
"""A writer that is paused for longer than a minute is taken for dead."""
LEASE_CALLS = 12
"""Length of a lease in time limits of a call. The writer uses half of it."""


def new_token() -> str:
    """Return a token for one upload, edit or deletion."""
    return uuid.uuid4().hex


def _frozen(ids: Iterable[str] | None) -> frozenset[str] | None:
    if ids is None:
        return None
    return frozenset(ids)


def revoked(token: str) -> str:
    """Return the token that a row gets in place of one whose lease has ended."""
    return f"{token}-revoked"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a change may touch. ``ids``: of the reports, None = anything. ``in_place``:
    passages change and keep their ids. ``token``: of the work that it belongs to.
    """

    ids: frozenset[str] | None
    kinds: frozenset[str]
    in_place: bool = False
    token: str = ""
    id: str = ""
    """Of an entry on a server; "" = a closed one, or of the SQLite file."""

    def covers(self, other: "Entry") -> bool:
        """Return whether readers look again at all that ``other`` names."""
        if other.in_place and not self.in_place:
            return False
        if not other.kinds <= self.kinds:
            return False
        if self.ids is None:
            return True
        return other.ids is not None and other.ids <= self.ids

    def joined(self, other: "Entry") -> "Entry":
        """Return the entry of a change that consists of both."""
        ids = None
        if self.ids is not None and other.ids is not None:
            ids = self.ids | other.ids
        return Entry(
            ids=ids,
            kinds=self.kinds | other.kinds,
            in_place=self.in_place or other.in_place,
            token=self.token or other.token,
            id=self.id,
        )

    def to_text(self) -> str:
        """Return the form in which the entry is stored."""
        ids = None if self.ids is None else sorted(self.ids)
        fields: Json = {"ids": ids, "kinds": sorted(self.kinds)}
        if self.in_place:
            fields["in_place"] = True
        if self.token:
            fields["token"] = self.token
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str, id: str = "") -> "Entry":
        """Read the stored form."""
        fields = json.loads(text)
        ids = fields["ids"]
        return cls(
            ids=_frozen(ids),
            kinds=frozenset(fields["kinds"]),
            in_place=fields.get("in_place", False),
            token=fields.get("token", ""),
            id=id,
        )


@dataclass(frozen=True, slots=True)
class State:
    """How far the changes have come. ``position`` grows with each one, ``positions``
    are the numbers of entries of each kind, and of those that are IN_PLACE. ``open``:
    the entries of changes in progress.
    """

    position: int = 0
    positions: Mapping[str, int] = field(default_factory=dict)
    open: tuple[Entry, ...] = ()

    def of(self, kind: str) -> int:
        """Return the number of entries of a kind: it grows with each such change."""
        return self.positions.get(kind, 0)

    def is_open(self, *kinds: str) -> bool:
        """Return whether a change of one of these kinds is in progress."""
        return any(not entry.kinds.isdisjoint(kinds) for entry in self.open)


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed after a position, and what is being changed. ``ids``: the reports,
    None = anything. ``in_place``: those whose passages may have changed and kept their
    ids.
    """

    state: State
    ids: frozenset[str] | None
    in_place: frozenset[str] = frozenset()


class Change:
    """A change in progress. ``change[name]`` is a guarded collection that can be
    written.
    """

    def __init__(self, database: Database, entry: Entry, *, until: float) -> None:
        self._database = database
        self._until = until
        self.entry = entry
        self.ended = False

    def __getitem__(self, name: str) -> Collection:
        """Raises RuntimeError: the change does not name the kind of this collection."""
        kind = GUARDED.get(name, PASSAGES)
        if kind not in self.entry.kinds:
            kinds = ", ".join(sorted(self.entry.kinds))
            raise RuntimeError(f"A change of {kinds} does not write {name!r}.")
        if name in self._database.mapped:
            return self._database.mapped[name]
        return WritableCollection(name, self._database, self)

    def note_in_place(self) -> None:
        """Announce also that passages changed and kept their ids."""
        self.entry = self.entry.joined(
            Entry(ids=self.entry.ids, kinds=self.entry.kinds, in_place=True)
        )

    def extend(self, entry: Entry) -> None:
        """Announce also what ``entry`` names."""
        self.entry = self.entry.joined(entry)

    def require_time(self) -> None:
        """Raises DatabaseError: the lease is nearly over, so that another process may
        take it; RuntimeError: the change has ended.
        """
        if self.ended:
            raise RuntimeError("The change has ended: nothing is written any more.")
        if clock() > self._until:
            raise DatabaseError(
                "A change of the library took longer than its lease.",
                remedy="Try again.",
                retry_after=5,
            )


class WritableCollection(Collection):
    """A guarded collection inside of a change."""

    def __init__(self, name: str, database: Database, change: Change) -> None:
        super().__init__(name, database)
        self._change = change

    @contextmanager
    def _driver(self, milliseconds: int | None = None) -> Iterator[Any]:
        self._change.require_time()
        with super()._driver(milliseconds) as raw:
            yield raw


def _boot_clock() -> Callable[[], float]:
    """Return a clock that goes on while the machine is suspended, where there is
    one.
    """
    identity = getattr(time, "CLOCK_BOOTTIME", None)
    if identity is None:
        return time.monotonic
    return lambda: time.clock_gettime(identity)


clock = _boot_clock()


def _read_meta(database: Database) -> dict[str, Json]:
    # All of them: the others are few and small, and a condition would cost more than it
    # saves.
    return {row["_id"]: row for row in list(database[META].find({}, {"recent": 0}))}


class Changes:
    """The changes of the library in one database. Thread-safe; each process has one
    (`Database.changes`).
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._meta = database[META]
        self._last: tuple[Json | None, State] = (None, State())
        """The row that was read last, and its state."""
        self._thread = threading.local()
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Entry]] = {}
        """Open entries by id, and when this process saw each first."""
        self._unclosed: dict[str, Entry] = {}
        """Own entries that may be open because a call failed; the next change closes
        them.
        """
        self.lease_seconds = max(MIN_LEASE_SECONDS, LEASE_CALLS * database.call_seconds)
        database.reads[META] = lambda: _read_meta(database)

    def corpus_id(self) -> str:
        """Return the id of this database's corpus, made at the first call; files of
        another are useless.
        """
        return str(self._meta.ensure("corpus_id", {"value": uuid.uuid4().hex})["value"])

    # Reading

    def rows(self) -> dict[str, Json]:
        """Return the rows of `meta` by id, read once for each request."""
        return cached(self._database, META, self._database.reads[META])

    def state(self) -> State:
        """Return the state, read once for each request (`request_cache`)."""
        row = self.rows().get(CHANGES)
        last_row, state = self._last
        if row is None or row is not last_row:
            state = self._state_of(row)
            self._last = row, state
        return state

    def position(self) -> int:
        """Return the position, 0 before the first change."""
        return self.state().position

    def since(self, position: int, *kinds: str) -> Changed:
        """Return what changed after ``position`` and what is being changed now, of
        these kinds (none = all). The rest of this request sees the state that it
        returns, or a later one.
        """
        row = self._meta.find_one({"_id": CHANGES})
        refresh(self._database)
        state = self._state_of(row)
        missed = state.position - position
        recent = (row or {}).get("recent", [])
        if missed < 0 or missed > len(recent):
            return Changed(state, None)
        entries = [Entry.from_text(text) for text in recent[len(recent) - missed :]]
        kinds = kinds or ANNOUNCED_KINDS
        ids: set[str] = set()
        in_place: set[str] = set()
        for entry in (*entries, *state.open):
            if entry.kinds.isdisjoint(kinds):
                continue
            if entry.ids is None:
                return Changed(state, None)
            ids |= entry.ids
            if entry.in_place:
                in_place |= entry.ids
        return Changed(state, frozenset(ids), frozenset(in_place))

    def key(self) -> str | None:
        """Return a key that changes with everything that is derived from the library;
        None while a change is in progress. On a server the numbers of rows are part of
        it, for the sake of other programs and of deletions without space.
        """
        state = self.state()
        if state.open:
            return None
        read_markers = self._database.reads.get(MARKERS)
        if self._database.embedded or read_markers is None:
            return str(state.position)
        markers = cached(self._database, MARKERS, read_markers)
        return f"{state.position}:{markers}"

    def _state_of(self, row: Json | None) -> State:
        """Return the state that the row of the changes holds."""
        if row is None:
            return State()
        opened = tuple(
            Entry.from_text(value, name.removeprefix(OPEN))
            for name, value in row.items()
            if name.startswith(OPEN)
        )
        self._note_open(opened)
        positions = {
            name: int(row.get(name, 0)) for name in (*ANNOUNCED_KINDS, IN_PLACE)
        }
        return State(int(row["position"]), positions, opened)

    # Writing

    @contextmanager
    def of(
        self,
        ids: Iterable[str] | None,
        *kinds: str,
        in_place: bool = False,
        outside: bool = False,
        frees_space: bool = False,
    ) -> Iterator[Change]:
        """Change rows of these reports (None = of any) and of these kinds, and announce
        it. Keep the block short: no reading of files, no embedding, no thread. Inside
        of another change of the same thread it joins that one.

        ``in_place``: passages change and keep their ids. ``outside``: the rows are in
        another database than the entry. ``frees_space``: the block only deletes, and
        runs also where the entry cannot be opened for lack of space. Raises
        DatabaseError.
        """
        entry = Entry(
            ids=_frozen(ids),
            kinds=frozenset(kinds),
            in_place=in_place,
            token=getattr(self._thread, "token", ""),
        )
        running: Change | None = getattr(self._thread, "change", None)
        if running is not None and not outside and self._joins(running, entry):
            running.extend(entry)
            yield running
        elif self._database.embedded and not outside:
            with self._transaction(entry) as change:
                yield change
        elif entry.kinds.isdisjoint(ANNOUNCED_KINDS):
            with self._running(entry, seconds=float("inf")) as change:
                yield change
        else:
            with self._announced(entry, frees_space=frees_space) as change:
                yield change

    @contextmanager
    def unannounced(self, *kinds: str) -> Iterator[Change]:
        """Write what no reader shows yet, such as vectors of a model that does not
        serve.
        """
        entry = Entry(ids=frozenset(), kinds=frozenset(kinds))
        with self._running(entry, seconds=float("inf")) as change:
            yield change

    @contextmanager
    def work(self, token: str) -> Iterator[None]:
        """Let all changes of this thread in the block belong to the work with this
        token.
        """
        outer_token = getattr(self._thread, "token", "")
        self._thread.token = token
        try:
            yield
        finally:
            self._thread.token = outer_token

    def announce(
        self, ids: Iterable[str] | None, *kinds: str, in_place: bool = False
    ) -> None:
        """Announce a change that another program has made, or one of a fact in
        `meta`.
        """
        entry = Entry(_frozen(ids), frozenset(kinds), in_place)
        self._update(closed=[entry])

    def raise_to(self, position: int) -> None:
        """Make the position at least this, so that none of before is met again; then
        every reader reads everything.
        """
        missing = position - self.since(0).state.position
        if missing > 0:
            self._meta.update_one(
                {"_id": CHANGES},
                {"$inc": {"position": missing}, "$set": {"recent": []}},
                upsert=True,
            )
        self.announce(None, *ANNOUNCED_KINDS)

    def close_abandoned(self) -> int:
        """Close the entries that this process has seen open for longer than the lease;
        return how many.
        """
        refresh(self._database)
        self.state()
        return self._take_expired()

    def _joins(self, running: Change, entry: Entry) -> bool:
        # On a server the entry is open already, and readers know only what it names.
        return self._database.embedded or running.entry.covers(entry)

    @contextmanager
    def _running(self, entry: Entry, *, seconds: float) -> Iterator[Change]:
        """Make the change that of this thread for the block, which has so much time."""
        outer_change = getattr(self._thread, "change", None)
        change = Change(self._database, entry, until=clock() + seconds)
        self._thread.change = change
        try:
            yield change
        finally:
            self._thread.change = outer_change
            change.ended = True

    @contextmanager
    def _transaction(self, entry: Entry) -> Iterator[Change]:
        with self._database.transaction() as count_changed_rows:
            rows_at_start = count_changed_rows()
            with self._running(entry, seconds=float("inf")) as change:
                yield change
            is_announced = not change.entry.kinds.isdisjoint(ANNOUNCED_KINDS)
            if is_announced and count_changed_rows() > rows_at_start:
                self._update(closed=[change.entry])
        refresh(self._database)

    @contextmanager
    def _announced(self, entry: Entry, *, frees_space: bool) -> Iterator[Change]:
        # Half of the lease, counted from before the entry was opened: whoever takes the
        # entry over begins to count when it is open.
        until = clock() + self.lease_seconds / 2
        entry = self._opened(entry, frees_space=frees_space)
        try:
            with self._running(entry, seconds=until - clock()) as change:
                yield change
        except ChatbotError:
            self._close(change.entry)
            raise
        self._close(change.entry)

    def _opened(self, entry: Entry, *, frees_space: bool) -> Entry:
        """Open an entry and return it with its id."""
        self._take_expired()
        entry = replace(entry, id=uuid.uuid4().hex)
        with self._lock:
            closed = list(self._unclosed.values())
        try:
            self._update(closed=closed, opened=entry)
        except DiskFullError:
            if not frees_space:
                raise
            log.warning("A deletion is announced when there is space again.")
            return entry
        except DatabaseError:
            with self._lock:  # it may be open: the answer is what failed
                self._unclosed[entry.id] = entry
            raise
        with self._lock:
            for closed_entry in closed:
                self._unclosed.pop(closed_entry.id, None)
        return entry

    def _close(self, entry: Entry) -> None:
        """Close an entry. Where that fails it stays open: readers look at what it names
        until the next change, or another process, closes it.
        """
        try:
            self._update(closed=[entry])
        except DatabaseError as error:
            log.warning("A change stays open for now: %s", error.message)
            with self._lock:
                self._unclosed[entry.id] = entry
            refresh(self._database)
            return
        with self._lock:
            self._unclosed.pop(entry.id, None)
            self._seen.pop(entry.id, None)

    def _update(
        self, *, closed: Iterable[Entry] = (), opened: Entry | None = None
    ) -> None:
        """Open and close entries in one atomic step."""
        entries = list(closed)
        # Fields of the row itself: the file updates no nested ones.
        update: Json = {}
        open_fields = {f"{OPEN}{entry.id}": "" for entry in entries if entry.id}
        if open_fields:
            update["$unset"] = open_fields
        if opened is not None:
            entries.append(opened)
            update["$set"] = {f"{OPEN}{opened.id}": opened.to_text()}
        counts: Counter[str] = Counter()
        for entry in entries:
            counts.update(entry.kinds)
            if entry.in_place or entry.ids is None:
                counts[IN_PLACE] += 1
        update["$inc"] = {"position": len(entries), **counts}
        texts = [entry.to_text() for entry in entries]
        update["$push"] = {"recent": {"$each": texts, "$slice": -MAX_CLOSED_ENTRIES}}
        self._meta.update_one({"_id": CHANGES}, update, upsert=True)
        refresh(self._database)

    # Entries of others

    def _note_open(self, entries: Iterable[Entry]) -> None:
        """Remember since when this process sees these entries open, and forget the
        others.
        """
        now = clock()
        with self._lock:
            seen = self._seen
            self._seen = {
                entry.id: seen.get(entry.id, (now, entry)) for entry in entries
            }

    def _take_expired(self) -> int:
        """Close the entries that were seen open for longer than the lease."""
        latest = clock() - self.lease_seconds
        with self._lock:
            expired = [entry for since, entry in self._seen.values() if since < latest]
        for entry in expired:
            # The token first: a writer that wakes up after this fails at its swap.
            if entry.token:
                self._revoke(entry)
            self._close(entry.joined(Entry(entry.ids, frozenset({CATALOG}))))
        return len(expired)

    def _revoke(self, entry: Entry) -> None:
        """Change the token in the rows of an entry."""
        documents = Collection("documents", self._database)
        for id in sorted(entry.ids or ()):
            documents.update_one(
                {"_id": id, "writer": entry.token},
                {"$set": {"writer": revoked(entry.token)}},
            )


class KeptUntilWritten(Generic[T]):
    """What is made of the rows of a collection, kept in memory until any process
    announces a change of ``kind``: the same object while it is equal. Thread-safe.
    """

    def __init__(
        self, changes: Changes, kind: str, read: Callable[[], T], first: T
    ) -> None:
        self._changes = changes
        self._kind = kind
        self._read = read
        self._state: tuple[int, T] = (-1, first)

    def current(self) -> T:
        """Return what the rows make now."""
        # The state before the rows: what is written meanwhile is read the next time.
        state = self._changes.state()
        number, made = self._state
        if number == state.of(self._kind) and not state.is_open(self._kind):
            return made
        made_anew = self._read()
        if made_anew != made:
            made = made_anew
        self._state = (state.of(self._kind), made)
        return made

"""Hands the events of one question to whoever waits for them, as they happen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ..checking.wording import NumberedStream
from ..domain import Event, SearchHit
from ..domain.cancellation import Cancellation
from ..domain.chat import ScopeSummary, SourcesEvent, StepEvent, TokenEvent
from ..domain.documents import NO_PUBLICATION, Publication, with_publications
from ..domain.errors import CancelledError
from ..domain.scope import Scope
from ..domain.turns import give_way

Send = Callable[[Event], object]
"""Takes an event at once: shows it, sends it, or keeps it."""


def send_nothing(event: Event) -> None:
    """Take an event that nobody waits for."""


class Emitter:
    """The one way out for the events of a question.

    Citations are numbered in the order in which they appear, as in the finished answer.
    A hit's rank is the number that cites it: where that changes, the sources are sent
    again.
    """

    def __init__(
        self,
        send: Send,
        cancel: Cancellation,
        publication: Callable[[str], Publication] = lambda id: NO_PUBLICATION,
    ) -> None:
        """``publication`` returns that of a report by its id."""
        self._send = send
        self._cancel = cancel
        self._publication = publication
        self._sources: SourcesEvent | None = None
        self.numbering = NumberedStream()
        self.path: list[StepEvent] = []
        """The steps so far, for the trace."""
        self.notes: list[str] = []
        """What is said above the answer."""
        self.preamble = ""
        """The notes, once they were sent: before the first word."""
        self.inferred_scope = Scope()
        """The part of the scope that was taken from the question."""
        self.earlier_scope = Scope()
        """What the question took over from its conversation."""

    def step(
        self,
        name: str,
        detail: str = "",
        *,
        items: Sequence[str] = (),
        hits: Sequence[SearchHit] = (),
        failed: bool = False,
    ) -> None:
        """Send a step and keep it in the path. Raises CancelledError."""
        event = StepEvent(name, detail, tuple(items), tuple(hits), failed)
        self.path.append(event)
        self.send(event)

    def sources(self, hits: Sequence[SearchHit], scope: ScopeSummary) -> None:
        """Send the passages of the answer, before its first word. Raises
        CancelledError.
        """
        scope = self.with_origins(scope)
        self._sources = SourcesEvent(self.described(hits), scope)
        self.numbering.known = [hit.rank for hit in hits]
        self.send(self._sources)

    def with_origins(self, scope: ScopeSummary) -> ScopeSummary:
        """Return a scope with what was taken from the question and from earlier."""
        return replace(
            scope,
            from_question=self.inferred_scope,
            from_earlier=self.earlier_scope,
        )

    def described(self, hits: Iterable[SearchHit]) -> tuple[SearchHit, ...]:
        """Return the hits with the publications of their reports."""
        return with_publications(hits, self._publication)

    def begin_again(self, note: str) -> None:
        """Forget what was to be said above an answer of which no word was sent, and say
        ``note`` instead. The path stays.
        """
        self.notes = [note]
        self.inferred_scope = Scope()
        self.earlier_scope = Scope()

    def forget_text(self) -> None:
        """Number the citations from 1 again, for a text that takes the place of one
        that nobody has read.
        """
        known = self.numbering.known
        self.numbering = NumberedStream()
        self.numbering.known = known

    def text(self, piece: str) -> None:
        """Send a piece of the answer. Raises CancelledError."""
        cited = len(self.numbering.order)
        shown = self.numbering.feed(piece)
        self._renumber(cited)
        if shown:
            self._token(shown)

    def end(self) -> None:
        """Send what was held back because it might have become a citation. Raises
        CancelledError.
        """
        cited = len(self.numbering.order)
        rest = self.numbering.rest()
        self._renumber(cited)
        if rest:
            self._token(rest)

    def finished(
        self,
        text: str,
        hits: Sequence[SearchHit],
        numbers: Mapping[str, int],
        scope: ScopeSummary,
    ) -> None:
        """Send an answer that was finished before; ``numbers`` are those that cite its
        passages, by chunk. Raises CancelledError.
        """
        self.sources(under_numbers(hits, numbers), scope)
        self._token(text)

    def send(self, event: Event) -> None:
        """Send an event. Raises CancelledError: nobody waits for it any more."""
        self.stop_if_cancelled()
        self._send(event)

    def stop_if_cancelled(self) -> None:
        """Raise CancelledError if nobody waits for the answer any more. Who goes before
        computes first.
        """
        give_way()
        if self._cancel.cancelled:
            raise CancelledError("The question was cancelled.")

    def _token(self, text: str) -> None:
        if self.notes and not self.preamble:
            self.preamble = " ".join(self.notes) + "\n\n"
            self.send(TokenEvent(self.preamble))
        self.send(TokenEvent(text))

    def _renumber(self, cited: int) -> None:
        """Send the sources again where those cited since have other numbers."""
        order = self.numbering.order
        as_ranked = list(range(cited + 1, len(order) + 1))
        if self._sources is None or order[cited:] == as_ranked:
            return
        ids = {hit.rank: hit.chunk.id for hit in self._sources.hits}
        numbers = {ids[rank]: number for number, rank in enumerate(order, start=1)}
        hits = under_numbers(self._sources.hits, numbers)
        self.send(replace(self._sources, hits=hits))


def under_numbers(
    hits: Sequence[SearchHit], numbers: Mapping[str, int]
) -> tuple[SearchHit, ...]:
    """Return the hits in the order of their numbers by chunk; the others follow under
    the next free ones.
    """
    free = (number for number in count(1) if number not in numbers.values())
    ranked = (
        replace(hit, rank=numbers.get(hit.chunk.id) or next(free)) for hit in hits
    )
    return tuple(sorted(ranked, key=lambda hit: hit.rank))

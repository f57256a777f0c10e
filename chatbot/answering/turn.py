"""One question on its way through the stages (`Turn`), what is found for it
(`Findings`), and what becomes of it (`Draft`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..domain import Answer, Context, RequestContext, SearchHit, Usage
from ..domain.chat import (
    Aggregation,
    AnswerCard,
    Prompt,
    QuerySettings,
    Question,
    ScopeSummary,
    StageTiming,
    Subjects,
    Threshold,
)
from ..domain.protocols import Catalog
from ..domain.scope import Reading
from ..language.analysis import Analyzer
from ..language.words import speaking
from ..models.replies.ending import Ending
from ..questions.reading import read_names
from ..search.compression import EmbeddedPages
from ..search.pipeline import Retrieval
from ..search.relevance import Judge
from ..search.subjects import Missing
from .budget import Spending
from .emitter import Emitter, Send
from .limits import Limits

if TYPE_CHECKING:
    from .dialogue import Dialogue
    from .figure_words import Rendered
    from .modes import Mode
    from .planners import Planner
    from .tools.search import Search
    from .writers import AnswerWriter

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer before it is checked.

    ``hits``: all that were found, for the trace; ``context``: the passages that it
    stands on, which it is checked against unless it quotes them. ``below``: text that
    stands beneath and is not checked. ``is_answer``: it is what was asked for, whatever
    it cites. ``is_computed``: it is no answer where it only comes close. ``is_sent``:
    its text went out while it was written. ``why``: why it ends the question, for the
    trace. ``lists_sources``: a list of its sources follows. ``finished``: an earlier
    answer that is given again. ``ending``: what the model itself says of its answer.
    ``prompt``: the one that a model wrote all of the text from.
    ``card``: the figures of a table that is the answer. ``is_stated``: it is the one
    figure that is asked for, and no list of quotations.
    """

    text: str
    scope: ScopeSummary
    hits: Sequence[SearchHit] = ()
    context: Context = field(default_factory=Context)
    below: str = ""
    truncated: bool = False
    is_quoted: bool = False
    is_stated: bool = False
    is_answer: bool = False
    is_computed: bool = False
    is_sent: bool = False
    why: str = "It is written."
    lists_sources: bool = False
    finished: Answer | None = None
    ending: Ending | None = None
    prompt: Prompt | None = None
    card: AnswerCard | None = None


class Findings:
    """Passages that were kept, by search; a passage that several searches found is kept
    once. ``closest``: what came near, for an answer that finds nothing.
    """

    def __init__(self) -> None:
        self._by_search: dict[str, list[SearchHit]] = {}
        self._found: dict[str, dict[str, SearchHit]] = {}
        self._seen: set[str] = set()
        self.closest: list[SearchHit] = []
        self.table: Rendered | None = None
        """The table of figures that a language model gets as a source."""
        self.is_enough = False
        """True if nobody has to judge any more whether it answers the question."""

    def unseen(
        self, results: Sequence[tuple[str, Sequence[SearchHit]]], *, most: int
    ) -> list[tuple[str, SearchHit]]:
        """Return the hits that are new, with their search: the best of each search in
        turn, ``most`` in all.
        """
        kept: list[tuple[str, SearchHit]] = []
        for search, hits in results:
            by_id = {hit.chunk.id: hit for hit in hits}
            self._found.setdefault(search, {}).update(by_id)
        columns: list[list[tuple[str, SearchHit]]] = []
        for search, hits in results:
            columns.append([(search, hit) for hit in hits])
        for search, hit in alternate(columns):
            if hit.chunk.id not in self._seen and len(kept) < most:
                self._seen.add(hit.chunk.id)
                kept.append((search, hit))
        return kept

    def add(self, pairs: Iterable[tuple[str, SearchHit]]) -> None:
        """Keep hits, each with the search that found it."""
        for search, hit in pairs:
            self._by_search.setdefault(search, []).append(hit)
            self._found.setdefault(search, {})[hit.chunk.id] = hit

    def add_all(self, search: str, hits: Iterable[SearchHit]) -> None:
        """Keep the hits of one search."""
        self.add((search, hit) for hit in hits)

    @property
    def hits(self) -> list[SearchHit]:
        """The best of each search, then the second best, ..."""
        return list(alternate(list(self._by_search.values())))

    def keep_only(self, hits: Iterable[SearchHit]) -> None:
        """Keep these of the hits, in this order."""
        places = {hit.chunk.id: place for place, hit in enumerate(hits)}
        for search, found in self._by_search.items():
            kept = [hit for hit in found if hit.chunk.id in places]
            kept.sort(key=lambda hit: places[hit.chunk.id])
            self._by_search[search] = kept

    def of(self, search: str) -> list[SearchHit]:
        """Return the kept hits of this search, also those that another search found
        first.
        """
        added = {hit.chunk.id for hits in self._by_search.values() for hit in hits}
        found = self._found.get(search, {})
        return [hit for chunk_id, hit in found.items() if chunk_id in added]


def distinct(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Return the hits without repetitions: each passage at its first place, with the
    scores of its last search.
    """
    return list({hit.chunk.id: hit for hit in hits}.values())


def alternate(columns: Sequence[Sequence[T]]) -> Iterator[T]:
    """Yield the first of each, then the second of each, ..."""
    for row in zip_longest(*columns):
        yield from (each for each in row if each is not None)


class Speaker:
    """Translates fixed words into the language of the question."""

    def __init__(self, language: str) -> None:
        self.use(language)

    def use(self, language: str) -> None:
        """Speak this language, one of `words.LANGUAGES`, from now on."""
        self._say = speaking(language)

    def __call__(self, text: str, /, **values: object) -> str:
        return self._say(text, **values)


@dataclass(kw_only=True)
class Turn:
    """One question on its way to an answer: what it asks, what is known of it by now,
    and its means: events, limits, words.
    """

    question: Question
    """Completed, read and scoped by the first stages."""
    request: RequestContext
    catalog: Catalog
    events: Emitter
    limits: Limits
    say: Speaker
    analyzer: Analyzer
    """Of the language of the reports."""
    judge_with: Callable[[QuerySettings], Judge]
    has_model: bool
    """True if a language model writes."""
    is_led: bool = False
    """True if the model says what to look for: what rules read is a hint to it."""
    hints: list[str] = field(default_factory=list)
    """What rules have read in the question, for a model that plans."""
    dialogue: Dialogue | None = None
    """What the model was told and has called, once it has planned."""
    is_foreign: bool = False
    """True if the question is in another language than the reports, which the embedding
    model does not know.
    """
    subjects: Subjects = field(default_factory=Subjects)
    """The countries and years that the question is about."""
    corrections: Mapping[str, str] = field(default_factory=dict)
    """Misspelt words, and what they are read as."""
    missing: str = ""
    """What the question names that no report is about."""
    absent: Missing | None = None
    """The same, where that is all it is about and it is searched for all the same."""
    suggested_scope: ScopeSummary | None = None
    """The scope that the question might be asked under."""
    cache_key: str = ""
    """The key under which the answer is kept; "" = it is not."""
    mode: Mode | None = None
    was_routed: bool = False
    """True if the mode was chosen for the question, not by it."""
    searched: ScopeSummary | None = None
    """The scope with its numbers of reports and passages."""
    found: Findings = field(default_factory=Findings)
    pages: EmbeddedPages | None = None
    """The attachments, embedded for this question."""
    tried: dict[Search, Retrieval] = field(default_factory=dict)
    """What was found by searches that may be repeated."""
    has_searched: bool = False
    """True if a search of several has worked."""
    closest_only: bool = False
    """True if the passages may only be close to the question."""
    threshold: Threshold | None = None
    """The lowest of its searches."""
    pipeline: tuple[Aggregation, ...] | None = None
    timings: list[StageTiming] = field(default_factory=list)
    """The stages that ran, in order."""
    condensed: str = ""
    """The question completed from its conversation; "" = it needs nothing."""
    own_words: list[str] = field(default_factory=list)
    """Of a completed question, the words of the person that ask for something."""
    own_lines: list[str] = field(default_factory=list)
    """Lines of the program in the middle of an answer, which no passage supports."""
    unused: Sequence[str] = ()
    """Words of the question that say something and that the answer does not use."""
    answered: Answer | None = None
    writes: list[Callable[[], object]] = field(default_factory=list)
    """What is stored once the answer is known, beside its message: nobody needs to wait
    for one after the other.
    """

    @classmethod
    def begin(
        cls,
        question: Question,
        request: RequestContext,
        send: Send,
        *,
        catalog: Catalog,
        analyzer: Analyzer,
        judge_with: Callable[[QuerySettings], Judge],
        has_model: bool,
        is_led: bool,
        is_foreign: bool,
        events: Emitter | None = None,
    ) -> Turn:
        """Return the turn of a question that has its settings. ``events`` are those of
        a turn that failed.
        """
        assert question.settings is not None
        reserve = question.settings.deep_context_tokens
        reserve += question.settings.max_answer_tokens
        if events is None:
            events = Emitter(send, request.cancel, catalog.publication)
        say = Speaker(question.language)
        spending = Spending(question.budget, reserve=reserve)
        return cls(
            question=question,
            request=request,
            catalog=catalog,
            analyzer=analyzer,
            events=events,
            limits=Limits(spending, request, events, say),
            say=say,
            judge_with=judge_with,
            has_model=has_model,
            is_led=is_led,
            is_foreign=is_foreign,
        )

    @property
    def answer(self) -> Answer:
        """The answer, once the question has one."""
        assert self.answered is not None, "the stage `finish` has run"
        return self.answered

    @property
    def settings(self) -> QuerySettings:
        return self.question.settings or QuerySettings()

    @property
    def quotes_on_error(self) -> bool:
        """True if quotations answer where the language model fails."""
        return self.settings.on_model_error == "quote"

    @property
    def is_general(self) -> bool:
        """True if the model answers from general knowledge where the reports hold
        nothing.
        """
        return self.has_model and self.settings.on_empty == "general"

    @property
    def reading(self) -> Reading:
        """The names in the question; read here only if nobody has read them before."""
        return self.question.reading or self.read(self.question.search_text)

    @property
    def planner(self) -> Planner:
        """Says what to look for."""
        assert self.mode is not None, "the stage `route` has run"
        return self.mode.planner

    @property
    def writer(self) -> AnswerWriter:
        """Writes from what was found."""
        assert self.mode is not None, "the stage `route` has run"
        return self.mode.writer

    @property
    def scope(self) -> ScopeSummary:
        """The scope that is searched, with its numbers."""
        assert self.searched is not None, "the stage `reports` has run"
        return self.searched

    @cached_property
    def judge(self) -> Judge:
        """Says whether hits answer the question."""
        return self.judge_with(self.settings)

    def read(self, query: str) -> Reading:
        """Return the names in a query, inside the question's scope."""
        return read_names(query, self.catalog, self.question.scope)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Note for `trace.stages` how long a stage took, and what it spent."""
        started = time.perf_counter()
        steps_before = len(self.limits.spending.steps)
        try:
            yield
        finally:
            steps = self.limits.spending.steps[steps_before:]
            usage = Usage.total(step.usage for step in steps)
            self.timings.append(StageTiming.since(name, started, usage))

    @contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """Look at another reading of the question inside the block."""
        asked = self.question
        self.question = question
        try:
            yield
        finally:
            self.question = asked

    def change(self, **fields: object) -> None:
        """Replace fields of the question."""
        self.question = replace(self.question, **fields)  # type: ignore[arg-type]

    def note(self, retrieval: Retrieval) -> None:
        """Keep pipeline and threshold of a search for the trace."""
        if retrieval.pipeline is not None:
            self.pipeline = (*(self.pipeline or ()), *retrieval.pipeline)
        used = retrieval.threshold
        if used and (self.threshold is None or used.used < self.threshold.used):
            self.threshold = used


class Stage(Protocol):
    """One step on the way of every question."""

    def run(self, turn: Turn) -> Draft | None:
        """Do its work on the turn; return a draft where that ends the question.

        Raises:
            ChatbotError: what it needs failed.
        """

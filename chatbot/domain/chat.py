"""Questions, prompts, replies of models, answers with citations and trace, and the
events on the way.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from json import dumps, loads
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, computed_field

from .costs import LedgerRow, Usage
from .documents import (
    Chunk,
    Context,
    Document,
    Publication,
    SearchHit,
    common_fields,
)
from .figures import ReportedFigure
from .json import Hidden, Inlines
from .scope import Condition, CountryGroup, Reading, Scope, Value, Values
from .tables import Texts

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Cited:
    """The countries, headings and passages that an answer cites, in the order of its
    citations.
    """

    countries: Texts = ()
    headings: Texts = ()
    chunk_ids: Texts = ()


@dataclass(frozen=True, slots=True)
class Message:
    """``standalone``: the question as it was understood; ``cited``: of an answer.
    Clients send neither.
    """

    role: Role
    content: str
    standalone: str = ""
    cited: Cited = Cited()  # frozen and empty


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one question: calls of the chat model, its tokens, seconds. None: no
    limit.
    """

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    spent: Usage = field(default_factory=Usage)
    """The usage before its first stage."""
    began: float | None = None
    """The `time.monotonic` from which the seconds count; None = now."""


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The settings that one question is searched and answered with. See `Settings` for
    the meaning of each field. A preset that a request names changes them for its
    question alone.
    """

    threshold_start: float = 0.7
    threshold_step: float = 0.1
    threshold_floor: float = 0.0
    threshold_keep: int | Literal["auto"] = "auto"
    num_candidates: int | Literal["auto"] = "auto"
    vector_weight: float = 0.6
    fusion: str = "zscore"
    refine: bool = True
    general_collection: Literal["untagged", "all", "scoped"] = "untagged"
    reranker: str = "none"
    relevance_floor: float | Literal["auto"] = "auto"
    on_empty: Literal["abstain", "relax", "general"] = "abstain"
    on_model_error: Literal["quote", "error"] = "quote"
    verify: Literal["auto", "off"] = "auto"
    repair: int = 1
    context_tokens: int = 3000
    context_metadata: bool = True
    context_role: Literal["user", "system"] = "user"
    system_prompt: str | None = None
    max_answer_tokens: int = 1024
    deep_rounds: int = 3
    chain_rounds: int = 4
    search_seconds: float = 20.0
    stages: Texts = ()
    planner: Literal["model", "rules"] = "model"
    plain: bool = False

    @classmethod
    def of(cls, settings: object) -> "QuerySettings":
        """Take over the fields of ``settings`` that have the same names."""
        return cls(**common_fields(cls, settings))

    @property
    def deep_context_tokens(self) -> int:
        """Tokens of passages in one prompt of the modes with several searches."""
        return 2 * self.context_tokens


EarlierField = Literal["country_name", "year", "figure_year", "document_name"]
"""What a question may take over from its conversation: ``year`` is the edition of a
report, ``figure_year`` the year of a figure, which is no filter.
"""
FIGURE_YEAR: EarlierField = "figure_year"


@dataclass(frozen=True, slots=True)
class Question:
    """A checked request. ``history`` is oldest first, without the question;
    ``standalone`` is the question completed from it, "" if it needs nothing.
    ``attachments`` take the place of the reports. ``auto_scope``: apply the scope found
    in it.
    """

    query: str
    scope: Scope
    top_k: int
    retrieval_method: str
    mode: str
    history: tuple[Message, ...] = ()
    attachments: tuple[Document, ...] = ()
    standalone: str = ""
    auto_scope: bool = False
    without_earlier: tuple[EarlierField, ...] = ()
    """What the question does not take over from the conversation."""
    chosen_scope: Scope | None = None
    """The part of ``scope`` that somebody chose, if the rest was taken from the
    question; None = all of it.
    """
    reading: Reading | None = None
    """The names in its `search_text`; None = not read yet."""
    groups: tuple[CountryGroup, ...] = ()
    """Groups of countries that ``scope`` was made from."""
    page: int | None = None
    """Only passages of this page."""
    preset: str = ""
    """The name of the preset that ``settings`` were made from; "" = none."""
    settings: QuerySettings | None = None
    """Settings of this question; None means those of the server."""
    cache: bool = True
    """True if a cached answer may be returned."""
    expand: bool = False
    """True if mode deep adds search terms (seed 001)."""
    is_streamed: bool = True
    """True if each word is sent when it is written, and cannot be changed then."""
    language: str = "en"
    """Language of the fixed words of the answer: one of `words.LANGUAGES`."""
    budget: Budget = field(default_factory=Budget)
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    """Prompts contain the date, so an answer is cached for one day only."""

    @property
    def search_text(self) -> str:
        """The text that is searched for; prompts have the person's own words
        instead.
        """
        return self.standalone or self.query


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. Language models read ``messages``; the extractive model
    reads question and context.
    """

    messages: tuple[Message, ...]
    question: str
    context: Context
    json_schema: Mapping[str, Any] | None = None
    """Schema of the reply, with its name as ``title``; None = prose. Models may ignore
    it.
    """
    language: str = "en"
    """Language of the fixed words around quotations; a language model answers in the
    question's.
    """
    is_plan: bool = False
    """True if the reply is read by this program: a model that thinks need not think
    long.
    """
    thinking_tokens: int = 0
    """Tokens beyond the limit of an answer, for a model that thinks before it
    writes.
    """
    length: int = 1
    """The reply may be so many times as long as MAX_ANSWER_TOKENS."""
    tools: tuple[ToolSpec, ...] = ()
    """The reply is calls of these tools where ``json_schema`` is set, which describes
    the same calls for a model that knows no tools; else they only keep the beginning
    of the request as it was, and none may be called.
    """
    mark: str = ""
    """The mark of its tags, where several prompts share one; "" = a new one."""
    fixed_tokens: int = 0
    """An estimate of the tokens at its beginning that are the same in each question."""

    @property
    def texts(self) -> list[str]:
        """The text of each message."""
        return [message.content for message in self.messages]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's answer; the last one has the ``usage``, if the model reports
    it. ``truncated``: the answer ends here because it reached its token limit.
    ``thinks``: the model has thought, which no text shows.
    """

    text: str = ""
    usage: Usage | None = None
    truncated: bool = False
    thinks: bool = False


QUERY_CHARACTERS = 4000


def question_problem(text: str) -> str:
    """Return what is wrong with a stripped question, "" if nothing is. Questions are
    never cut (R-A7).
    """
    if not text:
        return "must not be empty."
    if len(text) > QUERY_CHARACTERS:
        return (
            f"longer than {QUERY_CHARACTERS:,} characters ({len(text):,}): shorten it, or attach the text as a file, "  # noqa: E501
            "in the page or with POST /query."
        )
    return ""


@dataclass(frozen=True, slots=True)
class Citation(Inlines):
    """A number in the answer and its passage, which supports the clauses that cite it
    if ``supported``. ``section`` is that of the cited place.
    """

    INLINED: ClassVar = ("chunk", "publication")
    number: int
    hit: Hidden[SearchHit]
    section: str
    snippet: str
    supported: bool

    @computed_field
    @property
    def chunk(self) -> Chunk:
        return self.hit.chunk

    @computed_field
    @property
    def publication(self) -> Publication:
        return self.hit.publication

    @computed_field
    @property
    def score(self) -> float | None:
        return self.hit.score

    @computed_field(exclude_if=lambda general: not general)
    @property
    def general(self) -> bool:
        """See `SearchHit`."""
        return self.hit.general


Verdict = Literal["contradicted", "not_said"]
"""What a language model says of a sentence that its passages do not support."""
MarkKind = Literal[
    "figure",
    "unit",
    "year",
    "name",
    "direction",
    "negation",
    "attribution",
    "quotation",
    "no_source",
    "unknown_citation",
    "contradicted",
    "not_said",
]
"""What is wrong with a place. ``unit`` and ``year``: the passages have the number with
another unit or year. The last two are verdicts of a language model.
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place of the answer that its passages do not support, in characters;
    ``detail``: its text; ``words``: those of a passage that contradict it.
    """

    start: int
    end: int
    kind: MarkKind
    detail: str
    words: Annotated[str, Field(exclude_if=lambda words: not words)] = ""

    def moved(self, by: int) -> "Mark":
        """Return the mark for the text with so many characters before it."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A clause of the answer that its cited passages, ``numbers``, do not support.

    ``unknown`` numbers have no passage; ``figures`` (also dates), ``quotations`` and
    ``names`` were not found; ``contradicted`` differ in the passages. ``no_source``: it
    has a figure or a name and cites nothing. ``verdict``: that of a language model,
    with the ``words`` of a passage that contradict the sentence.
    """

    sentence: str
    numbers: tuple[int, ...]
    figures: Texts = ()
    quotations: Texts = ()
    unknown: tuple[int, ...] = ()
    names: Texts = ()
    contradicted: Texts = ()
    no_source: bool = False
    verdict: Annotated[
        Verdict | Literal[""], Field(exclude_if=lambda verdict: not verdict)
    ] = ""
    words: Annotated[str, Field(exclude_if=lambda words: not words)] = ""

    @property
    def lacking(self) -> bool:
        return bool(self.figures or self.quotations or self.names or self.contradicted)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The adaptive threshold (D5): its start, the value used, and whether it was
    lowered.
    """

    start: float
    used: float
    relaxed: bool


@dataclass(frozen=True, slots=True)
class StepTiming:
    """One piece of work, with its usage of the models."""

    name: str
    ms: float
    usage: Hidden[Usage] = field(default_factory=Usage)

    @classmethod
    def since(cls, name: str, started: float, usage: Usage = Usage()) -> "StepTiming":  # noqa: B008  # frozen and zero
        """Measure from ``started``, a reading of `time.perf_counter`."""
        return cls(name, round((time.perf_counter() - started) * 1000, 2), usage)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """A stage that ran for a question, with its usage of the models. ``ended``: why it
    ended the question, so that what follows did not run; "" = it did not.
    """

    name: str
    ms: float
    usage: Usage = field(default_factory=Usage)
    ended: str = ""

    @classmethod
    def since(cls, name: str, started: float, usage: Usage) -> "StageTiming":
        """Measure from ``started``, a reading of `time.perf_counter`."""
        return cls(name, round((time.perf_counter() - started) * 1000, 2), usage)


@dataclass(frozen=True, slots=True)
class ScopeSummary:
    """A scope with the numbers of its reports and passages. ``page``: only passages
    that begin on it. Filters that a client sends back count as chosen and exclude
    passages without these fields.
    """

    scope: Annotated[Scope, Field(serialization_alias="filters")]
    documents: int
    chunks: int
    page: Annotated[int | None, Field(exclude_if=lambda page: page is None)] = None
    from_question: Annotated[Scope, Field(exclude_if=lambda scope: not scope)] = field(
        default_factory=Scope
    )
    """The part of it that was found in the question."""
    from_earlier: Annotated[Scope, Field(exclude_if=lambda scope: not scope)] = field(
        default_factory=Scope
    )
    """What the question took over from its conversation, by `EarlierField`."""
    documents_beside: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """Reports without a field of the scope, which are searched beside its own."""

    @computed_field(exclude_if=lambda names: not names)
    @property
    def collections(self) -> Texts:
        return self.scope.collections


def _years(years: Sequence[Condition]) -> list[Value | dict[str, int]]:
    return [
        one
        for some in years
        for one in (some.values if isinstance(some, Values) else [some.to_json()])
    ]


Years = Annotated[tuple[Condition, ...], PlainSerializer(_years)]


@dataclass(frozen=True, slots=True)
class Subjects:
    """The countries and years that a question is about; a year is that of a figure or
    of an edition.
    """

    countries: Texts = ()
    figure_years: Years = ()
    editions: Years = ()


@dataclass(frozen=True, slots=True)
class StepEvent:
    """The beginning or end of a step. ``items``: sub-questions or sections of a plan;
    ``hits``: of a search.
    """

    name: str
    detail: str = ""
    items: Texts = ()
    hits: Annotated[
        tuple[SearchHit, ...],
        Field(serialization_alias="sources"),
        PlainSerializer(
            lambda hits: [hit.chunk for hit in hits], return_type=list[Chunk]
        ),
    ] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A pipeline that was sent to MongoDB's search engine: the collection, and the
    ``stages`` as JSON text. Text, because it is stored with the answer, and not every
    database accepts field names that begin with "$".
    """

    collection: str
    stages: Annotated[
        str,
        Field(serialization_alias="pipeline"),
        PlainSerializer(loads, return_type=list[dict[str, Any]]),
    ]

    @classmethod
    def of(
        cls, collection: str, pipeline: Sequence[Mapping[str, Any]]
    ) -> "Aggregation":
        """Keep only the first numbers of query vectors, and their count."""
        return cls(collection, dumps(_without_vectors(list(pipeline))))


def _without_vectors(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_vectors(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {
        name: [*value[:3], f"{len(value)} numbers"]
        if name == "queryVector"
        else _without_vectors(value)
        for name, value in part.items()
    }


Stopper = Literal["", "calls", "tokens", "seconds", "model"]
"""The part of the budget that ended an answer early, or "model": it failed."""


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """The search, and its steps with their times and usage."""

    mode: str
    retrieval_method: str
    query: str
    threshold: Threshold | None = None
    steps: tuple[StepTiming, ...] = ()
    path: tuple[StepEvent, ...] = ()
    """The steps in order, as they were shown."""
    ledger: tuple[LedgerRow, ...] = ()
    stopped_by: Stopper = ""
    cached: bool = False
    caches: Mapping[str, int] = field(default_factory=dict)
    """Lookups in the caches, e.g. ``{"embedding hit": 1, "query miss": 1}``."""
    truncated: bool = False
    """The answer was cut at its token limit."""
    closest_only: bool = False
    """The passages may only be close to the subject of the question."""
    unused: tuple[str, ...] = ()
    """Words of the question that say something and that the answer does not use."""
    understood: Subjects = field(default_factory=Subjects)
    pipeline: tuple[Aggregation, ...] | None = None
    """The pipelines sent to the search engine of MongoDB, in order; None where another
    engine searches.
    """

    @computed_field
    @property
    def usage(self) -> Usage:
        return Usage.total(step.usage for step in self.steps)

    @computed_field
    @property
    def cost(self) -> float | None:
        """The cost of all steps; None where a price is missing."""
        costs = [row.cost for row in self.ledger]
        if None in costs:
            return None
        return round(sum(cost for cost in costs if cost is not None), 10)


@dataclass(frozen=True, slots=True)
class Trace(SearchTrace):
    hits: tuple[SearchHit, ...] = ()
    stages: tuple[StageTiming, ...] = ()
    """The stages that ran, in order (`answering/flow.py`)."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """Why an answer was made without the language model: one of `errors.Fault`.
    ``retry_after``: the seconds after which the model may work again, None where nobody
    knows.
    """

    reason: str
    retry_after: int | None = None


CardKind = Literal["value", "values", "series", "computed"]


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """The figures that an answer states, in its order: what a page shows large and
    draws, and nothing else. ``kind``: one value; values of several subjects or
    indicators; of several years; or a result that was ``computed`` from the figures.
    """

    kind: CardKind
    indicators: Texts
    figures: tuple[ReportedFigure, ...]
    result: str = ""
    """What was computed, with its unit."""
    how: str = ""
    """How it was computed: "60.1 - 57.4"."""
    shared_year: int | None = None
    """The newest year that all compared subjects have, where it was chosen."""
    subject: str = ""
    """Whose figure is asked for, of a ranking of which it is not the first one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``answered`` is False if the passages do not contain the answer; ``response``
    says so.
    """

    response: str
    answered: bool
    citations: tuple[Citation, ...]
    scope: ScopeSummary
    trace: Trace
    suggested_scope: ScopeSummary | None = None
    """The narrower scope found in the question, if it was not applied."""
    unsupported: tuple[Unsupported, ...] = ()
    marks: tuple[Mark, ...] = ()
    figures: tuple[ReportedFigure, ...] = ()
    """The figures of the cited passages."""
    missing: Annotated[Texts, Field(exclude_if=lambda missing: not missing)] = ()
    """What was asked and the passages do not say, by the word of the model."""
    degraded: Annotated[
        Degraded | None, Field(exclude_if=lambda degraded: degraded is None)
    ] = None
    """Set where the language model failed, and quotations stand in for it."""
    card: Annotated[AnswerCard | None, Field(exclude_if=lambda card: card is None)] = (
        None
    )
    """The figures that it states; None where it states none."""

    @computed_field
    @property
    def sources(self) -> list[str]:
        """The names of the cited reports, in the order of their citations."""
        return list(
            dict.fromkeys(
                citation.hit.chunk.document_name for citation in self.citations
            )
        )


@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """The passages of an answer, before its first word."""

    hits: tuple[SearchHit, ...]
    scope: ScopeSummary


@dataclass(frozen=True, slots=True)
class TokenEvent:
    text: str


Event = StepEvent | SourcesEvent | TokenEvent
"""What is told of a question on the way to its answer."""

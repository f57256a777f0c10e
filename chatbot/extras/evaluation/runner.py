"""Measure the product: ranking metrics, abstention and score distributions of a data
set, and documents that attack.

Relevance is binary; a ``ranking`` is best first, ``relevant`` is never empty.
``injections.jsonl`` has documents that try to leave their place in a prompt or to hide
text in it, for the real loaders, and answers that a model might write, for the page's
renderer (tests/browser/test_injections.py).
"""

import json
import random
import re
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import log2
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...answering.answer import prompt_for
from ...app.services import Services
from ...domain import (
    Answer,
    Chunk,
    Context,
    Passage,
    Question,
    Scope,
    SearchHit,
)
from ...domain.chat import StepTiming
from ...domain.documents import Calibration, ErrorRates, Meaning, to_score
from ...domain.errors import LoadError
from ...domain.protocols import Catalog, Embedder, Store, search_meaning
from ...domain.scope import Value, Values
from ...library.loaders import loader_for, read_file
from ...models.prompts import sealed
from ...questions.reading import read_names
from ...search.pipeline import Retriever
from ...search.relevance import best_score
from ...search.subjects import everything_asked, suggest_scope
from .dataset import Dataset, EvaluationQuery

SEED = 7
"""Fixed, so that the same figures give the same interval and the same sample."""
TOP_K, DEEP = 10, 20
BATCH = 128
ABSTENTION = ("abstention_precision", "abstention_recall")
T = TypeVar("T")
Progress = Callable[[int], None]
ScopeOf = Callable[[EvaluationQuery], Scope]
"""The scope in which a question is asked."""
OWN_SCOPE: ScopeOf = attrgetter("scope")
UNRELATED_QUESTIONS = (
    Path(__file__).with_name("unrelated_questions.txt").read_text("utf-8").splitlines()
)
OTHERS, PASSAGES = 4, 10
"""Irrelevant passages of a question: from this many other reports, this many each."""
REFUSED = 0.01
"""The share of answerable questions that a floor may refuse."""
BEYOND, CONFIDENCE = 2.326, 1.645
"""Standard deviations of a normal distribution beyond which that share lies, and 5
%.
"""
FEWEST = 10
"""Answerable questions that a calibration needs."""
_CASES = Path(__file__).with_name("injections.jsonl")
_OBEYED = "OBEYED"
_UNSEEN = {"Cf", "Cc", "Cn"}
_LIKE_A_TAG = re.compile(r"[<\u2039][/\\]*(?:passage|p\u0430ssage)")
_QUESTION = Question("What is grown?", Scope(), 5, "hybrid", "direct")
Case = dict[str, Any]
Answering = Callable[[Question], Answer]
"""Answers a question as the product does."""


def recall(ranking: Sequence[T | None], relevant: Collection[T], k: int) -> float:
    """Return the share of the relevant ids that are among the first ``k``."""
    return len({*ranking[:k]} & {*relevant}) / len(relevant)


def reciprocal_rank(
    ranking: Sequence[T | None], relevant: Collection[T], k: int
) -> float:
    """Return 1 / rank of the first relevant id among the first ``k``, else 0."""
    return next(
        (1 / rank for rank, id in enumerate(ranking[:k], start=1) if id in relevant),
        0.0,
    )


def ndcg(ranking: Sequence[T | None], relevant: Collection[T], k: int) -> float:
    """Return the normalised discounted cumulative gain over the first ``k`` (Järvelin
    and Kekäläinen, 2002).
    """
    gain = sum(
        1 / log2(rank + 1)
        for rank, id in enumerate(ranking[:k], start=1)
        if id in relevant
    )
    return gain / sum(
        1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1)
    )


METRICS: Mapping[str, Callable[..., float]] = {
    "recall@5": partial(recall, k=5),
    "recall@10": partial(recall, k=TOP_K),
    "recall@20": partial(recall, k=DEEP),
    "mrr@10": partial(reciprocal_rank, k=TOP_K),
    "ndcg@10": partial(ndcg, k=TOP_K),
}


def precision_recall(
    verdicts: Sequence[tuple[bool, bool]],
) -> tuple[float | None, float | None]:
    """Return precision and recall of ``(predicted, actual)``; None if nothing is
    predicted, or actual.
    """
    correct = sum(predicted and actual for predicted, actual in verdicts)
    all_predicted = sum(predicted for predicted, _ in verdicts)
    all_actual = sum(actual for _, actual in verdicts)
    return (
        correct / all_predicted if all_predicted else None,
        correct / all_actual if all_actual else None,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean: percentiles of resampled means."""
    sample = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(SEED).integers(
        0, len(sample), size=(2000, len(sample))
    )
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def with_auto_scope(catalog: Catalog, query: EvaluationQuery) -> Scope:
    """Return the scope that the names in the question suggest, as with AUTO_SCOPE."""
    subjects = everything_asked(read_names(query.text, catalog), Scope(), catalog)
    return suggest_scope(subjects, Scope(), catalog) or Scope()


@dataclass
class Measured:
    """The figures of one configuration by question, not yet averaged."""

    name: str
    values: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in METRICS}
    )
    hits: int = 0
    leaks: int = 0
    stages: dict[str, list[float]] = field(default_factory=dict)
    abstained: list[tuple[bool, bool]] = field(default_factory=list)
    """(abstained, should have) by question; empty if no question was asked."""

    def add_times(self, steps: Iterable[StepTiming], total: float) -> None:
        """Add the milliseconds of one question by stage; a repeated search has a stage
        twice.
        """
        by_stage: dict[str, float] = {}
        for step in steps:
            by_stage[step.name] = by_stage.get(step.name, 0.0) + step.ms
        for name, milliseconds in {**by_stage, "total": total}.items():
            self.stages.setdefault(name, []).append(milliseconds)

    def to_json(self, *, intervals: bool = False) -> dict[str, Any]:
        """Return means over the questions, medians for ``ms``; ``leaks`` counts hits
        outside the filter, no general.
        """
        row: dict[str, Any] = {"name": self.name}
        row |= {
            name: round(sum(values) / max(len(values), 1), 4)
            for name, values in self.values.items()
        }
        row |= {
            "leaks": self.leaks,
            "leak_rate": round(self.leaks / max(self.hits, 1), 4),
        }
        if self.abstained:
            rates = precision_recall(self.abstained)
            row |= {
                n: None if rate is None else round(rate, 4)
                for n, rate in zip(ABSTENTION, rates, strict=True)
            }
        for name, share in (("ms", 50), ("ms_p95", 95)):
            row[name] = {
                stage: round(float(np.percentile(ms, share)), 2)
                for stage, ms in self.stages.items()
            }
        row["questions"] = len(self.values["recall@5"])
        if intervals:
            bounds = {
                name: interval(values) for name, values in self.values.items() if values
            }
            row["intervals"] = {
                name: [round(low, 4), round(high, 4)]
                for name, (low, high) in bounds.items()
            }
        return row


def load_chunks(
    store: Store, embedder: Embedder, chunks: Sequence[Chunk], progress: Progress
) -> None:
    """Embed and store ready-made chunks; ``progress`` gets the number done in each
    step.
    """
    for start in range(0, len(chunks), BATCH):
        batch = chunks[start : start + BATCH]
        store.upsert(
            batch, embedder.embed_documents([chunk.search_text for chunk in batch])
        )
        progress(len(batch))


def measure_retrieval(
    dataset: Dataset,
    name: str,
    retriever: Retriever,
    *,
    method: str,
    progress: Progress,
    scope_of: ScopeOf = OWN_SCOPE,
) -> Measured:
    """Ask every answerable question for 10 passages, and for 20 if the first 10 do not
    contain all targets.
    """
    measured = Measured(name)
    for query in dataset.answerable:
        text = query.text
        scope = scope_of(query)
        started = time.perf_counter()
        retrieval = retriever.retrieve(text, top_k=TOP_K, scope=scope, method=method)
        measured.add_times(retrieval.steps, (time.perf_counter() - started) * 1000)
        hits = retrieval.hits
        measured.hits += len(hits)
        measured.leaks += sum(
            not (hit.general or scope.matches(hit.chunk.about)) for hit in hits
        )
        ranking = query.ranking([hit.chunk for hit in hits])
        if len(hits) == TOP_K and recall(ranking, query.targets, TOP_K) < 1:
            deeper = retriever.retrieve(text, top_k=DEEP, scope=scope, method=method)
            ranking = query.ranking(
                [hit.chunk for hit in (*hits, *deeper.hits[TOP_K:])]
            )
        for metric, compute in METRICS.items():
            measured.values[metric].append(compute(ranking, query.targets))
        progress(1)
    return measured


def measure_abstention(
    dataset: Dataset,
    answer: Answering,
    *,
    method: str,
    top_k: int,
    progress: Progress,
    scope_of: ScopeOf = OWN_SCOPE,
) -> list[tuple[bool, bool]]:
    """Return for every question whether the product abstained, and whether it should
    have.
    """
    verdicts = []
    for query in dataset.queries:
        question = Question(
            query.text, scope_of(query), top_k, method, mode="direct", cache=False
        )
        answered = answer(question).answered
        verdicts.append((not answered, not query.answerable))
        progress(1)
    return verdicts


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by kind. The first two are best hits of a question, the others single
    passages.
    """

    answerable: tuple[float, ...]
    unrelated: tuple[float, ...]
    relevant: tuple[float, ...]
    irrelevant: tuple[float, ...]

    def errors(self, value: float) -> ErrorRates:
        """Return the errors of a floor or a threshold of this value, as shares."""
        return ErrorRates(
            value,
            refused=_share(score < value for score in self.answerable),
            accepted=_share(score >= value for score in self.unrelated),
            cut=_share(score <= value for score in self.relevant),
            kept=_share(score > value for score in self.irrelevant),
        )

    @property
    def floor(self) -> float:
        """The score that, with 95 % confidence, refuses no more than 1 % of the
        answerable questions, in hundredths. The lower of a normal tolerance limit,
        which falls with the number of questions, and the percentile. The factor is
        one-sided, by Natrella's approximation (NIST/SEMATECH e-Handbook, 7.2.6.3).
        """
        sample = np.asarray(self.answerable)
        a = 1 - CONFIDENCE**2 / (2 * (len(sample) - 1))
        b = BEYOND**2 - CONFIDENCE**2 / len(sample)
        limit = sample.mean() - (BEYOND + np.sqrt(BEYOND**2 - a * b)) / a * sample.std(
            ddof=1
        )
        return max(
            0.0, int(min(np.percentile(sample, 100 * REFUSED), limit) * 100) / 100
        )

    @property
    def threshold(self) -> float:
        """The score, in hundredths, with the fewest passages of both kinds on the wrong
        side.
        """
        rates = [self.errors(hundredths / 100) for hundredths in range(101)]
        least = min(rate.cut + rate.kept for rate in rates)
        best = [rate.value for rate in rates if rate.cut + rate.kept <= least + 1e-9]
        return best[len(best) // 2]

    def calibration(self, model_id: str, *, dataset: str, date: str) -> Calibration:
        """Return floor and threshold, with their errors and those of values around
        them; ``date`` as YYYY-MM-DD.
        """
        floor = self.floor
        threshold = self.threshold
        values = sorted(
            {*(hundredths / 100 for hundredths in range(50, 100, 5)), floor, threshold}
        )
        pairs = {name: len(getattr(self, name)) for name in self.__slots__}
        errors = tuple(self.errors(value) for value in values)
        return Calibration(
            model_id, floor, threshold, "measured", dataset, date, pairs, errors
        )


def collect_scores(services: Services, dataset: Dataset, progress: Progress) -> Scores:
    """Score the questions of a data set, and unrelated ones, against its reports.
    Raises LoadError: too few questions, or none whose answer is in a passage.
    """
    if len(dataset.answerable) < FEWEST:
        count = len(dataset.answerable)
        raise LoadError(
            f"{dataset.name} has {count} questions with an answer; {FEWEST} are "
            "needed to calibrate."
        )
    runtime = services.runtime
    retriever = services.everything.retriever
    settings = services.settings
    sample = random.Random(SEED).sample  # noqa: S311

    def best(text: str, scope: Scope) -> float:
        """Return the score that the relevance floor is compared with."""
        method = settings.retrieval_method
        return best_score(
            retriever.retrieve(
                text, top_k=settings.top_k, scope=scope, method=method
            ).hits
        )

    passage_scores = partial(_passage_scores, runtime.store)
    records = services.storage.documents.all()
    reports = {chunk.document_id: chunk.metadata for chunk in dataset.chunks} or {
        r.id: r.metadata for r in records
    }
    answerable = list[float]()
    unrelated = list[float]()
    relevant = list[float]()
    irrelevant = list[float]()
    for query in dataset.answerable:
        answerable.append(best(query.text, query.scope))
        meaning = search_meaning(runtime.embedder, query.text)
        for target in query.targets:
            scores = passage_scores(target.document_id, meaning, target.holds)
            relevant += [max(scores)] if scores else []
        others = _other_reports(query, reports)
        for id in sample(others, min(OTHERS, len(others))):
            of_report = passage_scores(id, meaning, lambda chunk: True)
            irrelevant += sample(of_report, min(PASSAGES, len(of_report)))
        progress(1)
    for text in UNRELATED_QUESTIONS:
        unrelated.append(best(text, Scope()))
        progress(1)
    if not relevant:
        raise LoadError(
            f"{dataset.name}: no passage contains the page or the words that a "
            "question names."
        )
    return Scores(
        tuple(answerable), tuple(unrelated), tuple(relevant), tuple(irrelevant)
    )


def _passage_scores(
    store: Store,
    document_id: str,
    meaning: Meaning,
    matches: Callable[[Chunk], bool],
) -> list[float]:
    """Return the scores of a report's passages that match: of their stored vectors, or
    by a search inside the report where the store embeds.
    """
    chunks, vectors = store.stored(document_id)
    rows = [row for row, chunk in enumerate(chunks) if matches(chunk)]
    if not rows:
        return []
    if not isinstance(meaning, str):
        return list(map(to_score, vectors[rows] @ meaning))
    scope = Scope.of({"document_id": Values((document_id,))})
    ids = {chunks[row].id for row in rows}
    found = store.vector_search(meaning, top_k=len(chunks), scope=scope)
    return [match.score for match in found if match.chunk_id in ids]


def _other_reports(
    query: EvaluationQuery, reports: Mapping[str, Mapping[str, Value]]
) -> list[str]:
    """Return the reports on other countries than the expected ones: the same country
    may say the same again.
    """
    expected = {target.document_id for target in query.targets}
    countries = {reports.get(id, {}).get("country_name") for id in expected} - {None}
    elsewhere = (
        id
        for id, about in reports.items()
        if about.get("country_name") not in countries
    )
    return [id for id in elsewhere if id not in expected]


def _share(verdicts: Iterable[bool]) -> float:
    counted = list(verdicts)
    return round(sum(counted) / max(len(counted), 1), 4)


def injection_cases(kind: str) -> list[Case]:
    """Return the cases of a ``kind``: "text" of a file, or "answer" of a model. Each
    has a name.
    """
    return [
        case
        for line in _CASES.read_text(encoding="utf-8").splitlines()
        if kind in (case := json.loads(line))
    ]


def broken(folder: Path) -> dict[str, list[str]]:
    """Return the problems of each failed case by its name. The files are written to
    ``folder``.
    """
    cases = {
        case["name"]: list(_problems(case, folder)) for case in injection_cases("text")
    }
    return {name: problems for name, problems in cases.items() if problems}


def _problems(case: Case, folder: Path) -> Iterator[str]:
    path = folder / case["file"]
    path.write_text(case["text"], encoding="utf-8")
    loaded = read_file(loader_for(path), path)
    chunks = [
        Chunk(
            f"d-v-{place:05}",
            "d",
            "d",
            loaded.title,
            one.text,
            section=" \u203a ".join(one.path),
            ordinal=place,
        )
        for place, one in enumerate(loaded.sections)
    ]
    passages = (
        Passage(number, SearchHit(chunk, number), chunk.text)
        for number, chunk in enumerate(chunks, start=1)
    )
    rules, message = sealed(prompt_for(_QUESTION, Context(tuple(passages))).messages)
    mark = re.search(r"the mark (\w+);", rules.content)
    tags = (
        rf'<passage-{mark[1]} number="\d+">\n(.*?)\n</passage-{mark[1]}>'
        if mark
        else r"(?!)"
    )
    outside = re.sub(tags, "", message.content, flags=re.DOTALL)
    inside = "".join(re.findall(tags, message.content, re.DOTALL))
    if _OBEYED in rules.content or _OBEYED in outside or not inside:
        yield "it is outside of its passage"
    if case.get("hidden") and _OBEYED in inside:
        yield "hidden text reaches the model"
    if not case.get("hidden") and _OBEYED not in inside:
        yield "visible text is lost"
    shown = message.content.replace("\n", "")
    if any(unicodedata.category(sign) in _UNSEEN for sign in shown):
        yield "invisible characters remain"
    if _LIKE_A_TAG.search(_plain_signs(inside)):
        yield "something in it reads as a tag"


def _plain_signs(text: str) -> str:
    """Return a text without blanks, accents and other forms of a letter."""
    signs = unicodedata.normalize("NFKD", text).casefold()
    return "".join(
        sign for sign in signs if not unicodedata.combining(sign) and not sign.isspace()
    )

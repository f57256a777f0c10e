"""Whether a comparison has the passages of both sides: one search for all, or the agent with one search for each side.

Questions of `factbook_scoped_dev` joined two by two: the same thing asked of two countries in one year, or of one
country in two years. Run: python -m benchmarks.compare_sides BENCH
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from benchmarks.loaded import bench_folder, loaded, mean
from chatbot.evaluation.dataset import EvaluationQuery, register_reports
from chatbot.grounding.context import build_context
from chatbot.request import RequestContext
from chatbot.schema import Question, Scope, SourcesEvent, Value, Values
from chatbot.services import Services

EACH_KIND, SEED = 75, 6
BUDGET, MARGIN, PER_SIDE = 6000, 300, 5
THINGS = {
    "What is the population growth rate?": "the population growth rate",
    "What is the life expectancy at birth for the total population?": "life expectancy at birth",
    "How high is consumer price inflation?": "consumer price inflation",
    "What is the unemployment rate?": "the unemployment rate",
    "What is real GDP per person?": "real GDP per person",
    "Which countries supply most of its imports?": "the countries that supply most of the imports",
    "What are the main export goods?": "the main export goods",
    "Who is the chief of state?": "the chief of state",
    "Which terrorist groups operate there?": "the terrorist groups that operate there",
    "What share of GDP goes to the military?": "the share of GDP that goes to the military",
    "How many people use the internet?": "the number of people who use the internet",
    "How many refugees and displaced people are there?": "the number of refugees and displaced people",
    "How much of the population has electricity?": "the share of the population that has electricity",
    "What share of people live in cities?": "the share of people who live in cities",
}
"""The questions of the data set as the thing that is compared."""
TWO_COUNTRIES = (
    "Compare {thing} of {a} and {b} in the {year} reports",
    "How do {a} and {b} differ in {thing} in the {year} reports?",
    "What is the difference in {thing} between {a} and {b} in the {year} editions?",
    "{a} vs {b}, {year} reports: {question}",
    "{bare} in {a} and in {b} according to the {year} reports?",
    "How does {thing} in {a} compare with that of {b} in the {year} reports?",
)
TWO_YEARS = (
    "Compare {thing} of {a} in the {year} report and the {other} report",
    "How did {thing} in {a} change between the {year} and the {other} report?",
    "What is the difference between the {year} and {other} editions in {thing} of {a}?",
    "{a}, {year} report versus {other} report: {question}",
    "{bare} in {a} in the {year} report and in the {other} report?",
    "How does {thing} in {a} in the {other} edition compare with the {year} edition?",
)
"""What is right are passages of editions, so the words speak of editions: a bare year is a figure's."""


@dataclass(frozen=True, slots=True)
class Pair:
    text: str
    scope: Scope
    relevant: frozenset[str]


Way = Callable[[Services, str, Scope], set[str]]
"""The passages in the context of a question, by their ids."""


def main(bench: Path) -> None:
    with loaded(bench / "factbook_scoped_dev") as (services, data):
        register_reports(services.storage.documents, data.chunks)
        report(services, data.answerable)


def report(services: Services, queries: Sequence[EvaluationQuery]) -> None:
    kinds = {
        "countries": pairs_of(queries, "year", TWO_COUNTRIES),
        "years": pairs_of(queries, "country_name", TWO_YEARS),
    }
    pairs = [pair for found in kinds.values() for pair in found]
    print(f"{len(pairs)} questions: {', '.join(f'{len(found)} of two {kind}' for kind, found in kinds.items())}")
    print(f"{'both sides in the context':50}{'all':>8}{'countries':>11}{'years':>8}{'passages':>10}")
    ways: tuple[tuple[str, Way], ...] = (
        ("one search, top_k 5", plainly(5)),
        ("one search, top_k 10", plainly(10)),
        ("the agent compare, top_k 5", compared),
    )
    for filtered in (True, False):
        for name, way in ways:
            found = {kind: [measure(services, pair, way, filtered) for pair in kinds[kind]] for kind in kinds}
            both = {kind: [is_both for is_both, _ in measured] for kind, measured in found.items()}
            passages = mean([count for measured in found.values() for _, count in measured])
            label = f"{name}, {'with filters' if filtered else 'names only'}"
            figures = f"{mean(both['countries'] + both['years']):8.3f}{mean(both['countries']):11.3f}"
            print(f"{label:50}{figures}{mean(both['years']):8.3f}{passages:10.1f}")


def measure(services: Services, pair: Pair, way: Way, filtered: bool) -> tuple[bool, int]:
    """Whether the passages of both sides are in the context, and how many passages that has."""
    shown = way(services, pair.text, pair.scope if filtered else Scope())
    return pair.relevant <= shown, len(shown)


def plainly(top_k: int) -> Way:
    def search(services: Services, text: str, scope: Scope) -> set[str]:
        hits = services.answering.retriever().retrieve(text, top_k=top_k, scope=scope, method="hybrid").hits
        context = build_context(hits, services.vectors.store, budget_tokens=BUDGET, margin=MARGIN)
        return {passage.hit.chunk.id for passage in context.passages}

    return search


def compared(services: Services, text: str, scope: Scope) -> set[str]:
    question = Question(text, scope, PER_SIDE, "hybrid", "compare", cache=False)
    events = services.answering.agent("compare").run(question, request=RequestContext())
    return {hit.chunk.id for event in events if isinstance(event, SourcesEvent) for hit in event.hits}


def pairs_of(queries: Sequence[EvaluationQuery], same: str, wordings: Sequence[str]) -> list[Pair]:
    """Questions that have the value of a field in common, two by two, each wording in its turn."""
    found = chosen(grouped(queries, same))
    return [joined(first, second, wordings[n % len(wordings)]) for n, (first, second) in enumerate(found)]


def grouped(queries: Sequence[EvaluationQuery], field: str) -> list[list[EvaluationQuery]]:
    """Questions with the same words and the same value of a field, sorted."""
    groups: dict[tuple[str, Value], list[EvaluationQuery]] = defaultdict(list)
    for query in queries:
        groups[query.scoped_text, value(query, field)].append(query)
    return [groups[key] for key in sorted(groups, key=str)]


def chosen(groups: Sequence[Sequence[EvaluationQuery]]) -> list[tuple[EvaluationQuery, EvaluationQuery]]:
    """`EACH_KIND` pairs with different reports; the same ones every time."""
    pairs = [
        sorted(pair, key=place)
        for group in groups
        for pair in combinations(group, 2)
        if place(pair[0]) != place(pair[1])
    ]
    picked = random.Random(SEED).sample(pairs, min(EACH_KIND, len(pairs)))
    return [(first, second) for first, second in picked]


def joined(first: EvaluationQuery, second: EvaluationQuery, wording: str) -> Pair:
    question = first.scoped_text
    text = wording.format(
        thing=THINGS[question],
        question=question,
        bare=question.rstrip("?"),
        a=value(first, "country_name"),
        b=value(second, "country_name"),
        year=value(first, "year"),
        other=value(second, "year"),
    )
    conditions = {
        field: Values(tuple(dict.fromkeys((value(first, field), value(second, field)))))
        for field in ("country_name", "year")
    }
    return Pair(text, Scope.of(conditions), first.relevant | second.relevant)


def place(query: EvaluationQuery) -> tuple[str, str]:
    return str(value(query, "country_name")), str(value(query, "year"))


def value(query: EvaluationQuery, field: str) -> Value:
    condition = query.scope.get(field)
    assert isinstance(condition, Values)
    return condition.values[0]


if __name__ == "__main__":
    main(bench_folder(__doc__))

"""Fit the weights of the order on libraries of many kinds (`benchmarks/mixed.py`).

    python -m benchmarks fit [DATA] [--library NAME ...] [--every N] [--write]

The passages found for each question are recorded with their features. Every other
question of a set is used for the fit, and the rest judge it. One weight after the other
is changed as long as right passages come further up; "found" is the unit. A passage is
right if an answer that is this passage alone is right. The fitted weights are accepted
if on the questions that judge no set of any library loses; `--write` then writes them
to `chatbot/search/weights.toml`. What they gain in answers says `mixed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.mixed import Asked, opened, parsed, parser_of, questions_of
from chatbot.domain import SearchHit
from chatbot.search import ordering
from chatbot.search.features import WEIGHTS, Candidates

Weights = Mapping[str, float]
TABLE = Path(ordering.__file__).with_name("weights.toml")
FACTORS = (0.0, 0.5, 0.8, 1.25, 2.0)
"""Changes of a weight that are tried."""
ROUNDS = 5
"""Times that all weights are changed, at most."""
UNIT = "found"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was found for a question of a set, and which passages are right."""

    set_name: str
    found: Candidates
    right: Sequence[bool]

    def reciprocal_rank(self, weights: Weights) -> float:
        """Return 1 divided by the rank of the first right passage."""
        order = ordering.ranked(self.found, weights)
        for rank, position in enumerate(order, start=1):
            if self.right[position]:
                return 1 / rank
        return 0.0


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--write", action="store_true", help="write the weights if they are accepted"
    )
    chosen = parsed(parser)
    records = [
        one
        for library in chosen.library
        for one in recorded(library, chosen.data, chosen.every)
    ]
    fitted = fit(records[::2])
    is_accepted = report(records, fitted)
    if is_accepted and fitted != WEIGHTS and chosen.write:
        write(fitted)


def recorded(library: str, data: Path, every: int) -> Iterator[Recorded]:
    """Ask the questions of a library; yield those of which a right passage is found."""
    with opened(library, data) as ask, compared() as questions:
        for asked in questions_of(library, data, every):
            questions.clear()
            ask(asked.query)
            # Of the searches for one question, that for the question itself is first.
            for question in questions[:1]:
                right = [is_right(asked, hit) for hit in question.hits]
                if any(right):
                    yield Recorded(f"{library}/{asked.set_name}", question, right)


@contextmanager
def compared() -> Iterator[list[Candidates]]:
    """Yield a list to which the questions that are ordered are added."""
    questions: list[Candidates] = []

    def noting(question: Candidates, weights: Weights) -> list[int]:
        questions.append(question)
        return ranked(question, weights)

    ranked = ordering.ranked
    with patch.object(ordering, "ranked", noting):
        yield questions


def is_right(asked: Asked, hit: SearchHit) -> bool:
    """Return whether an answer that is this passage alone is right."""
    chunk = hit.chunk
    source: dict[str, Any] = {
        "country_name": chunk.country_name,
        "year": chunk.year,
        "section": chunk.section,
        "document_name": chunk.document_name,
        "title": chunk.title,
        "text": chunk.text,
        "snippet": chunk.text,
    }
    answer = {
        "response": chunk.text,
        "answered": True,
        "citations": [source],
        "trace": {"hits": [source]},
    }
    return asked.is_right(answer)


def fit(records: Sequence[Recorded]) -> Weights:
    """Return the weights under which right passages come first, by coordinates."""
    best: Weights = WEIGHTS
    reached = mean_rank(records, best)
    for _ in range(ROUNDS):
        before = reached
        for name in WEIGHTS:
            if name == UNIT:
                continue
            for factor in FACTORS:
                tried = {**best, name: round(factor * best[name], 3)}
                value = mean_rank(records, tried)
                if value > reached:
                    best, reached = tried, value
        if reached == before:
            break
    return best


def mean_rank(records: Sequence[Recorded], weights: Weights) -> float:
    """Return the mean reciprocal rank; each set of each library counts the same."""
    of_sets = by_set(records, weights)
    return sum(of_sets.values()) / len(of_sets)


def by_set(records: Sequence[Recorded], weights: Weights) -> dict[str, float]:
    """Return the mean reciprocal rank of each set."""
    ranks: dict[str, list[float]] = {}
    for one in records:
        ranks.setdefault(one.set_name, []).append(one.reciprocal_rank(weights))
    return {name: sum(of_set) / len(of_set) for name, of_set in ranks.items()}


def report(records: Sequence[Recorded], fitted: Weights) -> bool:
    """Print the weights and what each set gains; return whether no set of the questions
    that judge loses.
    """
    for name, value in WEIGHTS.items():
        print(f"{name:14} {value:7.3f} -> {fitted[name]:7.3f}")
    is_accepted = True
    for title, some in (("fitted on", records[::2]), ("judged by", records[1::2])):
        before = by_set(some, WEIGHTS)
        now = by_set(some, fitted)
        for name, value in before.items():
            print(f"{title} {name:16} {value:.3f} -> {now[name]:.3f}")
            if title == "judged by" and now[name] < value:
                is_accepted = False
    print("accepted" if is_accepted else "not accepted: a set loses")
    return is_accepted


def write(weights: Weights) -> None:
    """Write the values into the table of weights."""
    text = TABLE.read_text(encoding="utf-8")
    for name, value in weights.items():
        row = re.compile(rf"(\[features\.{name}\]\nvalue = )\S+")
        text = row.sub(rf"\g<1>{value}", text)
    TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""How many wrong figures and quotations the citation check finds, and how often it
accuses a right answer.

200 answers are made of the questions of factbook_scoped_dev, each from its true answer
and its gold passage, in several spellings; in every second one a figure, or a word of
the quotation, is changed. Then the extractive model's own answers to all questions,
which quote word for word. Run: python -m benchmarks citation_check BENCH [--runs 20]
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.citation_cases import (
    FIGURE,
    KINDS,
    QUOTED,
    Case,
    cases,
    possible,
    respelled,
)
from chatbot.checking.citations import check
from chatbot.config.settings import Settings
from chatbot.domain import Prompt, Unsupported
from chatbot.domain.request import RequestContext
from chatbot.models.chat.extractive import build
from chatbot.models.embed.hashing import HashingEmbedder

ANSWERS = 200
FIELDS = (
    "{field} of {country} in its {year} report: {answer} [{n}].",
    "- **{field}:** {answer} [{n}]",
)
QUOTES = (
    "The report gives it as “{answer}” [{n}].",
    'It says "{answer}." [{n}]',
    "Quoted: « {answer} » [{n}].",
)


def response(case: Case, kind: str, draw: random.Random) -> str:
    """An answer with the change (kind "" = none), in one of several spellings and
    forms.
    """
    answer = KINDS[kind](case.answer, draw) if kind else case.answer
    # What is written out in words has nothing to check unless it is quoted.
    quoted = (
        kind in QUOTED
        or not FIGURE.search(re.sub(r"\(.*?\)", "", case.answer))
        or draw.random() < 0.3
    )
    if not quoted:
        answer = respelled(answer, draw)
    filters = case.question.scope.to_json()
    names = {
        "country": filters["country_name"][0],
        "year": filters["year"][0],
        "field": case.field,
    }
    return draw.choice(QUOTES if quoted else FIELDS).format(answer=answer, n=2, **names)


def run(
    all_cases: Sequence[Case], seed: int
) -> tuple[Counter[str], Counter[str], list[str]]:
    """How many answers of each kind there were, how many of them were marked, and the
    mistakes.
    """
    draw = random.Random(seed)
    made, marked, mistakes = Counter[str](), Counter[str](), []
    for place, case in enumerate(
        draw.sample(list(all_cases), min(ANSWERS, len(all_cases)))
    ):
        kinds = possible(case.answer)
        kind = (
            min(kinds, key=lambda name: (made[name], name))
            if place % 2 and kinds
            else ""
        )
        text = response(case, kind, draw)
        found = check(text, case.context, case.question).unsupported
        made[kind] += 1
        marked[kind] += bool(found)
        if bool(found) != bool(kind):
            mistakes.append(
                f"{kind or 'unchanged'}: {text!r} (true: {case.answer!r}) "
                f"{_said(found)}"
            )
    return made, marked, mistakes


def _said(found: Sequence[Unsupported]) -> str:
    return "; ".join(f"{sentence.figures} {sentence.quotations}" for sentence in found)


def extractive(all_cases: Sequence[Case]) -> list[str]:
    """The sentences of the extractive model's answers that are marked, though it only
    quotes.
    """
    model = build(Settings(), model="", embedder=lambda: HashingEmbedder(512))
    alarms = []
    for case in all_cases:
        prompt = Prompt((), case.question.query, case.context)
        text = "".join(
            delta.text for delta in model.stream(prompt, request=RequestContext())
        )
        alarms += [
            f"{s.sentence!r}: {s.figures} {s.quotations}"
            for s in check(text, case.context, case.question).unsupported
        ]
    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "bench", type=Path, help="the folder of the data sets in BEIR layout"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--runs",
        type=int,
        default=1,
        help="that many sets of 200, each with a seed of its own",
    )
    arguments = parser.parse_args()
    all_cases = cases(arguments.bench)
    made, marked = Counter[str](), Counter[str]()
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        some_made, some_marked, mistakes = run(all_cases, seed)
        made, marked = made + some_made, marked + some_marked
        for mistake in mistakes:
            print(mistake)
    for kind in KINDS:
        print(
            f"{kind:<24}{marked[kind]:>5} of {made[kind]:>5} found  "
            f"{marked[kind] / max(made[kind], 1):7.1%}"
        )
    changed = sum(made.values()) - made[""]
    found = sum(marked.values()) - marked[""]
    print(
        f"{'changed, all':<24}{found:>5} of {changed:>5} found  "
        f"{found / changed:7.1%}   (wanted: 98 %)"
    )
    print(
        f"{'unchanged':<24}{marked['']:>5} of {made['']:>5} marked "
        f"{marked[''] / made['']:7.1%}   (at most: 2 %)"
    )
    alarms = extractive(all_cases)
    for alarm in alarms:
        print(alarm)
    print(
        f"extractive answers      {len(alarms):>5} of {len(all_cases):>5} marked   "
        "         (wanted: 0)"
    )


if __name__ == "__main__":
    main()

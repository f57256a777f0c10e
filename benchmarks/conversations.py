"""Measure whether a complete question gets the same answer in a conversation as alone.

    python -m benchmarks conversations [DATA] [--every N] [--show]

Conversations of four questions, each complete by itself, about the sample reports and
the documents of other people beside them (`mixed`). The second, third and fourth are
also asked alone, which makes 120 pairs; a pair is equal if the text of both answers is.
The questions are read from the folder DATA (REPORT_CHAT_TEST_DATA by default) and
shuffled, so that neighbours differ in country and kind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mixed import opened
from benchmarks.questions import Ask

SEED = 52
QUESTIONS_OF_ONE = 4
SETS = {
    "wordings/dev/everyday.json": ("question", 44),
    "wordings/dev/prose.json": ("question", 20),
    "wordings/dev/rankings.json": ("question", 20),
    "wordings/dev/comparisons.json": ("question", 20),
    "questions4/dev/why.json": ("turns", 10),
    "questions4/dev/region.json": ("turns", 8),
    "questions4/dev/people.json": ("turns", 8),
    "questions4/dev/upload.json": ("turns", 17),
    "mixed_library/questions.json": ("query", 13),
}
"""The field with the question, and how many questions are taken, by file."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers to one question; ``position``: in its conversation, from 2."""

    question: str
    position: int
    alone: str
    later: str
    understood_as: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("REPORT_CHAT_TEST_DATA")
    parser.add_argument("data", nargs="?", type=Path, default=default)
    parser.add_argument("--library", default="mixed", help="see `mixed`")
    parser.add_argument("--every", type=int, default=1, help="of the conversations")
    parser.add_argument("--show", action="store_true", help="print what differs")
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("name the folder of the data, or set REPORT_CHAT_TEST_DATA")
    with opened(chosen.library, chosen.data) as ask:
        pairs = list(pairs_of(ask, conversations(chosen.data)[:: chosen.every]))
    for position in range(2, QUESTIONS_OF_ONE + 1):
        of_position = [pair for pair in pairs if pair.position == position]
        equal = sum(pair.alone == pair.later for pair in of_position)
        print(f"asked as number {position}: {equal} of {len(of_position)} the same")
    equal = sum(pair.alone == pair.later for pair in pairs)
    print(f"all: {equal} of {len(pairs)} the same")
    for pair in pairs:
        if chosen.show and pair.alone != pair.later:
            print(f"  {pair.question!r} as {pair.understood_as!r}")
            print(f"    alone: {pair.alone[:200]!r}")
            print(f"    later: {pair.later[:200]!r}")


def conversations(data: Path) -> list[list[str]]:
    """Return complete questions, shuffled, in conversations of `QUESTIONS_OF_ONE`."""
    questions: list[str] = []
    for name, (field, count) in SETS.items():
        rows = json.loads((data / name).read_text(encoding="utf-8"))
        texts = [_question(row, field) for row in rows]
        questions += texts[:count]
    random.Random(SEED).shuffle(questions)
    whole = len(questions) - len(questions) % QUESTIONS_OF_ONE
    return [
        questions[start : start + QUESTIONS_OF_ONE]
        for start in range(0, whole, QUESTIONS_OF_ONE)
    ]


def _question(row: Any, field: str) -> str:
    text = row[field]
    return str(text[0] if isinstance(text, list) else text)


def pairs_of(ask: Ask, asked: list[list[str]]) -> Iterator[Pair]:
    """Ask each conversation, and its later questions alone."""
    for questions in asked:
        conversation_id = None
        for position, question in enumerate(questions, start=1):
            later = ask(question, conversation_id=conversation_id)
            conversation_id = later["conversation_id"]
            if position == 1:
                continue
            alone = ask(question)
            yield Pair(
                question=question,
                position=position,
                alone=alone["response"],
                later=later["response"],
                understood_as=later["trace"]["query"],
            )


if __name__ == "__main__":
    main()

"""Computed tables and sums that people wrote who had not seen the check, and what a
language model said of their sentences when it saw the checking prompt alone.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chatbot.checking.meaning import (
    SentenceVerdict,
    decided,
    doubts_of,
    open_sentences,
    without_open,
)
from chatbot.checking.wording import unify_brackets
from chatbot.models.replies.verdicts import verdicts
from tests.checking.test_model_answers import checked, passage

ROWS = json.loads((Path(__file__).parent / "data" / "computed.json").read_text("utf-8"))
SETS = sorted({row["set"] for row in ROWS})


def is_marked(row: dict[str, Any]) -> bool:
    """Return whether a reader sees a mark, once the model has judged what is open."""
    answer = checked(row)
    cited = [citation.number for citation in answer.citations]
    passages = {number: passage(number, row["cites"][number - 1]) for number in cited}
    response = unify_brackets(row["answer"], passages)
    sentences = open_sentences(response, passages, answer.unsupported)
    said = {one["of"]: one for one in row["said"]}
    asked = [said.get(sentence.words, {}) for sentence in sentences]
    reply = {
        "verdicts": [{"sentence": n, **one} for n, one in enumerate(asked, start=1)]
    }
    judged = verdicts(len(sentences)).read(json.dumps(reply)) or []
    of_sentence = {one.sentence: one for one in judged}
    given = []
    for number, sentence in enumerate(sentences, start=1):
        one = of_sentence.get(number)
        if one is not None:
            given.append(
                SentenceVerdict(sentence, one.verdict, one.words, one.formulas)
            )
    counted = decided(given, passages)
    left, _ = without_open(
        response, sentences, counted, answer.unsupported, answer.marks
    )
    more, _ = doubts_of(response, passages, counted)
    return bool(left or more)


@pytest.mark.parametrize("name", SETS)
def test_right_computations_are_proven_and_wrong_ones_are_marked(name: str) -> None:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for row in ROWS:
        if row["set"] != name:
            continue
        kind = "right" if row["right"] else "wrong"
        counts[kind] += 1
        if is_marked(row) == row["right"]:
            failed.append(f"{kind}: {row['answer']}")
            counts[f"{kind}, failed"] += 1
    assert (counts["right"], counts["wrong"]) == (30, 30)
    assert counts["right, failed"] <= 1, failed
    assert counts["wrong, failed"] <= 1, failed

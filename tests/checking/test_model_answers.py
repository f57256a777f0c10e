"""Right answers in every form that models write, and wrong claims, from the sample
reports: marked or not.
"""

import json
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from chatbot.checking.citations import CheckedAnswer, check
from chatbot.config import SAMPLE_DATA
from chatbot.domain import Chunk, Context, Passage, Question, Scope, SearchHit
from chatbot.domain.figures import GlossaryEntry
from chatbot.library.derived import default_glossary

ANSWERS = sorted((Path(__file__).parent / "data").glob("*_answers.json"))
CASES = {
    half: rows
    for file in ANSWERS
    for half, rows in json.loads(file.read_text("utf-8")).items()
}


@pytest.mark.parametrize("half", CASES)
def test_wrong_claims_are_marked_and_right_answers_are_not(half: str) -> None:
    is_right = half.startswith("right")
    assert [
        row["answer"]
        for row in CASES[half]
        if bool(checked(row).unsupported) == is_right
    ] == []


def checked(row: dict[str, Any]) -> CheckedAnswer:
    """Return what the check finds in an answer of the file."""
    question = None
    if row["question"]:
        question = Question(row["question"], Scope(), 5, "hybrid", "direct")
    passages = [
        passage(number, heading) for number, heading in enumerate(row["cites"], start=1)
    ]
    return check(row["answer"], Context(tuple(passages)), question, glossary())


@cache
def glossary() -> tuple[GlossaryEntry, ...]:
    return tuple(default_glossary())


def passage(number: int, cited: str) -> Passage:
    """Return a heading of a sample report, "kenya-2025: Literacy", as a passage."""
    report, _, heading = cited.partition(": ")
    name, _, year = report.rpartition("-")
    country = name.replace("-", " ").title()
    section, text = sections(report)[heading]
    chunk = Chunk(
        Chunk.make_id(report, "v1", number),
        report,
        report,
        f"{country}: Country Report {year}",
        text,
        section=section,
        ordinal=number,
        metadata={"country_name": country, "year": int(year)},
    )
    return Passage(number, SearchHit(chunk, number), text)


@lru_cache(maxsize=32)
def sections(report: str) -> dict[str, tuple[str, str]]:
    """Return the section and the text of each heading of a sample report."""
    by_heading: dict[str, tuple[str, str]] = {}
    path = SAMPLE_DATA / "country_reports" / f"{report}.md"
    text = path.read_text(encoding="utf-8").replace("**", "")
    for chapter in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, *parts = re.split(r"^### ", chapter, flags=re.MULTILINE)
        for part in parts:
            heading, _, body = part.partition("\n")
            section = f"{name.strip()} › {heading}"
            by_heading.setdefault(heading, (section, body.strip()))
    return by_heading

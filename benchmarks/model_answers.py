"""How many right answers of a language model the citation check marks, and how many wrong claims it misses.

The answers, with the headings of the sample reports that they cite, are in `tests/checking/data/*_answers.json`.
Run: python -m benchmarks model_answers [--show]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from chatbot.checking.citations import CheckedAnswer, check
from chatbot.domain import Chunk, Context, Passage, Question, Scope, SearchHit
from chatbot.domain.figures import GlossaryEntry
from chatbot.library.derived import read_glossary

ROOT = Path(__file__).parent.parent
ANSWERS = sorted((ROOT / "tests" / "checking" / "data").glob("*_answers.json"))
REPORTS = ROOT / "sample_data" / "country_reports"


@lru_cache(maxsize=32)
def sections(report: str) -> dict[str, tuple[str, str]]:
    """Return the section and the text of each heading of a sample report."""
    found: dict[str, tuple[str, str]] = {}
    text = (REPORTS / f"{report}.md").read_text(encoding="utf-8").replace("**", "")
    for chapter in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, *headings = re.split(r"^### ", chapter, flags=re.MULTILINE)
        for part in headings:
            heading, _, body = part.partition("\n")
            found.setdefault(heading, (f"{name.strip()} › {heading}", body.strip()))
    return found


@cache
def glossary() -> tuple[GlossaryEntry, ...]:
    """Return the glossary of the sample reports."""
    return tuple(read_glossary(ROOT / "sample_data" / "glossary.csv"))


def passage(number: int, cited: str) -> Passage:
    """Return a heading of a sample report, "kenya-2025: Literacy", as a passage."""
    report, _, heading = cited.partition(": ")
    name, _, year = report.rpartition("-")
    country = name.replace("-", " ").title()
    section, text = sections(report)[heading]
    chunk = Chunk(
        Chunk.make_id(report, "v1", number), report, report, f"{country}: Country Report {year}", text,
        section=section, ordinal=number, metadata={"country_name": country, "year": int(year)},
    )  # fmt: skip
    return Passage(number, SearchHit(chunk, number), text)


def checked(row: dict[str, Any]) -> CheckedAnswer:
    """Return what the check finds in an answer of the file."""
    question = Question(row["question"], Scope(), 5, "hybrid", "direct") if row["question"] else None
    cited = Context(tuple(passage(number, cited) for number, cited in enumerate(row["cites"], start=1)))
    return check(row["answer"], cited, question, glossary())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", default=ANSWERS)
    parser.add_argument("--show", action="store_true", help="print the mistakes")
    arguments = parser.parse_args()
    sets = (json.loads(file.read_text(encoding="utf-8")).items() for file in arguments.files)
    for half, rows in chain.from_iterable(sets):  # those called "later" or "fresh" were written after the rules
        group = "form" if half.startswith("right") else "kind"
        made, marked = Counter[str](), Counter[str]()
        for row in rows:
            found = checked(row).unsupported
            made[row[group]] += 1
            marked[row[group]] += bool(found)
            if arguments.show and bool(found) != half.startswith("wrong"):
                print(f"{half}, {row[group]}: {row['answer']}\n    {found}")
        print(f"{half}: {marked.total()} of {made.total()} marked")
        print("".join(f"    {kind}: {marked[kind]} of {made[kind]}\n" for kind in made), end="")


if __name__ == "__main__":
    main()

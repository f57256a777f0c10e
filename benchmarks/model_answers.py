"""How many right answers of a language model the citation check marks, and how many
wrong claims it misses.

The answers, with the headings of the sample reports that they cite, are in
`tests/checking/data/*_answers.json`. Run: python -m benchmarks model_answers [--show]

`--time`: processor time of checking the right answers as one, and of 200,000 characters
made to be slow. `--prompts FOLDER`: why, how and overview questions refused without a
call, and passages in the prompts of all questions of the `wordings` whose first line is
not under their heading in the report. A server of its own and a scripted model.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import re
import time
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.recorded import fetch, server
from benchmarks.recorded_requests import Request
from chatbot.checking import evidence
from chatbot.checking.citations import CheckedAnswer, check
from chatbot.domain import Chunk, Context, Passage, Question, Scope, SearchHit
from chatbot.domain.figures import GlossaryEntry
from chatbot.language import language_of, reported_figures
from chatbot.library.derived import read_glossary
from chatbot.questions import names
from tests.fakes.openai_server import CHAT, FakeOpenAI

ROOT = Path(__file__).parent.parent
ANSWERS = sorted((ROOT / "tests" / "checking" / "data").glob("*_answers.json"))
REPORTS = ROOT / "sample_data" / "country_reports"
OWN = (
    "How is the government of Yemen organised and who controls what?",
    "What went wrong in Haiti?",
    "How is Madagascar's government organised and who leads it?",
    "What happened in Sudan in 2019?",
    "Why is Haiti in a security crisis?",
    "What does Peru live on?",
    "How safe is it in Mozambique's north?",
    "Why do people leave Honduras?",
    "Give me an overview of Jordan's economy.",
    "How did Somalia fall apart?",
)
"""Why, how and overview questions besides those of the `wordings` in prose."""
PASSAGE = re.compile(
    r"^Report: (?P<country>[^\n:]*): Country Report (?P<year>\d{4}).*\nSection: (?P<section>.+)\n(?P<line>.+)",  # noqa: E501
    re.MULTILINE,
)
SHOWN = 60
"""Characters of a passage's first line that are looked for."""


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


def checked(row: dict[str, Any]) -> CheckedAnswer:
    """Return what the check finds in an answer of the file."""
    question = (
        Question(row["question"], Scope(), 5, "hybrid", "direct")
        if row["question"]
        else None
    )
    cited = Context(
        tuple(
            passage(number, cited) for number, cited in enumerate(row["cites"], start=1)
        )
    )
    return check(row["answer"], cited, question, glossary())


def times(rows: list[dict[str, Any]], rounds: int = 20) -> None:
    """Print the milliseconds of the check of these answers as one, and the shares of
    its functions.
    """
    texts, cites = list[str](), list[str]()
    for row in rows:
        before = len(cites)
        cites += row["cites"]
        texts.append(
            re.sub(
                r"\d+(?=[\d, ]*\])",
                lambda n, m=before: str(int(n[0]) + m),
                row["answer"],
            )
        )
    text = "\n\n".join(texts)
    cited = Context(
        tuple(passage(number, one) for number, one in enumerate(cites, start=1))
    )
    new = (
        evidence._read,
        reported_figures._figures_of_line,
        names.find_countries,
        language_of,
    )

    def measured(answer: str, context: Context) -> float:
        began = time.process_time()
        check(answer, context, None, glossary())
        return (time.process_time() - began) * 1000

    def cold() -> float:
        for cache_of in new:
            cache_of.cache_clear()
        return measured(text, cited)

    for state, run in (
        ("new passages", cold),
        ("passages read before", lambda: measured(text, cited)),
    ):
        of_runs = sorted(run() for _ in range(rounds))
        print(
            f"{state}: {len(text.split())} words, {len(cites)} passages: {of_runs[0]:.1f} ms, median "  # noqa: E501
            f"{of_runs[rounds // 2]:.1f}"
        )
        profile = cProfile.Profile()
        profile.runcall(run)
        stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
        whole = max(row[3] for row in stats.values())
        parts = sorted(
            ((row[3] / whole, *at) for at, row in stats.items() if "chatbot" in at[0]),
            reverse=True,
        )
        print(
            "".join(
                f"    {share:4.0%} {Path(file).stem}.{name}\n"
                for share, file, _, name in parts[:25]
            ),
            end="",
        )
    for kind in zip(*(pieces_of(n) for n in range(12_000)), strict=True):
        half = "".join(kind)[:49_000]
        print(
            f"200,000 characters of {kind[1]!r}: {measured(f'{half} [1]. {half * 3}', cited):.0f} ms"  # noqa: E501
        )


def pieces_of(n: int) -> tuple[str, ...]:
    """Return pieces of answers that a check of quadratic time would be slow on."""
    return (
        f"{n * 37 % 1000}.{n} ",
        f"{n % 28 + 1} May {1900 + n % 120}, ",
        f"| Kenya {n} | {n}% [1] |\n",
        f"It rose to {n}.{n % 10}% in Kenya in {1950 + n % 70} [1]. ",
        f"of Abu{n:x} ",
        "[1]",
        "1,234 ",
        "“",
    )


def prompts(folder: Path) -> None:
    """Print how many questions of the folder were refused without a call, and how many
    passages were torn.
    """
    sets = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*.json"))
    }
    torn, seen, refused = list[str](), 0, list[str]()
    settings = {
        "CACHE_SECONDS": "0",
        "EMBEDDING_PROVIDER": "minilm",
        "LOG_LEVEL": "ERROR",
    }
    with (
        FakeOpenAI() as model,
        server(ROOT, {**model.as_environment, **settings}) as url,
    ):
        prose = [*(item["question"] for item in sets["prose"]), *OWN]
        others = [
            turn
            for name, items in sets.items()
            if name != "prose"
            for item in items
            for turn in turns(item)
        ]
        for place, question in enumerate(prose + others):
            before = model.calls(CHAT)
            fetch(
                url,
                Request(
                    "question", "POST", "/query", {"query": question, "mode": "direct"}
                ),
            )
            if place < len(prose) and model.calls(CHAT) == before:
                refused.append(question)
        for request in model.received(CHAT):
            for shown in PASSAGE.finditer(request.body["messages"][-1]["content"]):
                if (
                    REPORTS / f"{report_of(shown)}.md"
                ).exists():  # the reports that are PDFs have no headings to compare
                    seen += 1
                    torn += [] if stands(shown) else [shown[0]]
    print(
        f"refused without a call: {len(refused)} of {len(prose)}",
        *refused,
        sep="\n    ",
    )
    print(
        f"passages that begin under another heading: {len(torn)} of {seen}",
        *torn,
        sep="\n    ",
    )


def turns(item: dict[str, Any]) -> list[str]:
    return item.get("turns") or [item["question"]]


def report_of(shown: re.Match[str]) -> str:
    return f"{shown['country'].lower().replace(' ', '-')}-{shown['year']}"


def stands(shown: re.Match[str]) -> bool:
    """Return whether the first line of a passage is under its heading in the report."""
    _, text = sections(report_of(shown)).get(
        shown["section"].rpartition(" › ")[2], ("", "")
    )
    return " ".join(shown["line"].split())[:SHOWN] in " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", default=ANSWERS)
    parser.add_argument("--show", action="store_true", help="print the mistakes")
    parser.add_argument("--time", action="store_true", help="measure the time instead")
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FOLDER",
        help="ask the questions of FOLDER instead",
    )
    arguments = parser.parse_args()
    if arguments.prompts:
        prompts(arguments.prompts)
        return
    if arguments.time:
        times(
            json.loads(
                (ROOT / "tests/checking/data/model_answers.json").read_text(
                    encoding="utf-8"
                )
            )["right"]
        )
        return
    sets = (
        json.loads(file.read_text(encoding="utf-8")).items() for file in arguments.files
    )
    for half, rows in chain.from_iterable(
        sets
    ):  # those called "later" or "fresh" were written after the rules
        group = "form" if half.startswith("right") else "kind"
        made, marked = Counter[str](), Counter[str]()
        for row in rows:
            found = checked(row).unsupported
            made[row[group]] += 1
            marked[row[group]] += bool(found)
            if arguments.show and bool(found) != half.startswith("wrong"):
                print(f"{half}, {row[group]}: {row['answer']}\n    {found}")
        print(f"{half}: {marked.total()} of {made.total()} marked")
        print(
            "".join(f"    {kind}: {marked[kind]} of {made[kind]}\n" for kind in made),
            end="",
        )


if __name__ == "__main__":
    main()

"""Questions of factbook_scoped_dev with their true answers and gold passages, and ways
to write and to spoil these.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loaded import question_rows, scope_of
from chatbot.domain import Chunk, Context, Passage, Question, SearchHit

SET = "factbook_scoped_dev"
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Case:
    """A question with its true answer, and the passages of its report, the gold one
    first.
    """

    question: Question
    answer: str
    field: str
    chunks: Sequence[Chunk]

    @property
    def context(self) -> Context:
        """The gold passage is number 2."""
        gold, other, *rest = self.chunks
        return Context(
            tuple(
                Passage(n, SearchHit(c, n), c.text)
                for n, c in enumerate((other, gold, *rest), 1)
            )
        )


def cases(bench: Path) -> list[Case]:
    chunks, reports = {}, defaultdict(list)
    corpus = (bench / SET / "corpus.jsonl").read_text(encoding="utf-8").split("\n")
    for row in map(json.loads, filter(None, corpus)):
        country, year, ordinal = row["_id"].split("|")
        meta = {name: row["metadata"][name] for name in ("country_name", "year")}
        title = row["title"].rpartition(" - ")[0]
        place = {
            "section": row["metadata"]["section"],
            "ordinal": int(ordinal),
            "metadata": meta,
        }
        chunks[row["_id"]] = Chunk(
            row["_id"], f"{country}|{year}", title, title, row["text"], **place
        )
        reports[country, int(year)].append(chunks[row["_id"]])
    rows = [
        row.split("\t")
        for row in (bench / SET / "qrels/test.tsv")
        .read_text(encoding="utf-8")
        .split("\n")[1:]
        if row
    ]
    gold = {question: chunk for question, chunk, _ in rows}
    return [
        _case(row, chunks[gold[row["_id"]]], reports)
        for row in question_rows(bench / SET)
    ]


def _case(
    row: dict[str, Any], gold: Chunk, reports: dict[tuple[str, int], list[Chunk]]
) -> Case:
    meta = row["metadata"]
    report = reports[meta["filters"]["country_name"], meta["filters"]["year"]]
    near = sorted(report, key=lambda chunk: abs(chunk.ordinal - gold.ordinal))[1:5]
    question = Question(meta["scoped_text"], scope_of(row), 5, "hybrid", "direct")
    return Case(
        question, _whole(meta["answer"], gold.text), meta["field"], (gold, *near)
    )


def _whole(answer: str, text: str) -> str:
    """The set cuts long answers anywhere; half a word is nothing that a model would
    quote.
    """
    if re.match(r"\w", text[text.index(answer) + len(answer) :]):
        return answer.rpartition(" ")[0].rstrip(" ,;(")
    return answer


def respelled(answer: str, draw: random.Random) -> str:
    """The same, as a model may write it."""
    ways: list[Callable[[str], str]] = [
        lambda text: re.sub(r"(?<=\d)%", " percent", text),
        lambda text: re.sub(r"(?<=\d)%", "\u202f%", text),
        lambda text: re.sub(r"(?<=\d),(?=\d{3})", "\u202f", text),
        lambda text: re.sub(r"(?<=\d),(?=\d{3})", " ", text),
        lambda text: re.sub(r"\$([\d.,]+(?: [mb]illion)?)", r"USD \1", text),
        lambda text: re.sub(r"\$([\d.,]+(?: [mb]illion)?)", r"\1 US dollars", text),
        lambda text: re.sub(r"\$([\d.,]+) billion", r"$\1bn", text),
        lambda text: re.sub(r"(?<![\d.])(\d+)\.?(\d*) million", _in_full, text),
        lambda text: re.sub(r"[\d.,]*\d", r"**\g<0>**", text, count=1),
        lambda text: text.replace("-", "\u2013"),
    ]
    return draw.choice(
        [new for way in ways if (new := way(answer)) != answer] or [answer]
    )


def _in_full(match: re.Match[str]) -> str:
    return f"{int(match[1] + match[2].ljust(6, '0')):,}"


def digit(answer: str, draw: random.Random) -> str:
    figure = draw.choice(list(FIGURE.finditer(answer)))
    place = draw.choice([n for n in range(*figure.span()) if answer[n].isdigit()])
    others = [d for d in "123456789" if d != answer[place]]
    return answer[:place] + draw.choice(others) + answer[place + 1 :]


def swapped_digits(answer: str, draw: random.Random) -> str:
    places = [
        n
        for n in range(len(answer) - 1)
        if re.fullmatch(r"\d\d", two := answer[n : n + 2]) and two[0] != two[1]
    ]
    n = draw.choice(places)
    return answer[:n] + answer[n + 1] + answer[n] + answer[n + 2 :]


def moved_point(answer: str, draw: random.Random) -> str:
    figure = draw.choice(
        list(re.finditer(r"(?<![\d.,])([1-9]\d*)\.(\d+)(?![\d.,]\d)", answer))
    )
    whole, rest = figure.groups()
    moved = (
        f"{whole}{rest[0]}.{rest[1:] or '0'}"
        if draw.random() < 0.5
        else f"{whole[:-1] or '0'}.{whole[-1]}{rest}"
    )
    return answer[: figure.start()] + moved + answer[figure.end() :]


def other_scale(answer: str, draw: random.Random) -> str:
    return re.sub(
        r"million|billion|trillion",
        lambda m: "billion" if m[0] != "billion" else "million",
        answer,
        count=1,
    )


def other_word(answer: str, draw: random.Random) -> str:
    word = draw.choice(list(re.finditer(r"[^\W\d_]{4,}", answer)))
    return (
        answer[: word.start()]
        + draw.choice(["timber", "Atlantis", "sugar", "Borduria"])
        + answer[word.end() :]
    )


def swapped_order(answer: str, draw: random.Random) -> str:
    items = answer.split(", ")
    n = draw.randrange(len(items) - 1)
    items[n], items[n + 1] = items[n + 1], items[n]
    return ", ".join(items)


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "digit changed": digit,
    "digits swapped": swapped_digits,
    "decimal point moved": moved_point,
    "scale changed": other_scale,
    "word of the quotation": other_word,
    "order of the quotation": swapped_order,
}
QUOTED = ("word of the quotation", "order of the quotation")


def possible(answer: str) -> list[str]:
    """The kinds of change this answer has a place for."""
    has = {
        "digit changed": FIGURE.search(answer),
        "digits swapped": re.search(r"(\d)(?!\1)\d", answer),
        "decimal point moved": re.search(
            r"(?<![\d.,])[1-9]\d*\.\d+(?![\d.,]\d)", answer
        ),
        "scale changed": re.search("million|billion|trillion", answer),
        "word of the quotation": re.search(
            r"[^\W\d_]{4,}", re.sub(r"\(.*?\)|[mb]illion", "", answer)
        ),
        "order of the quotation": answer.count(", ")
        and len(set(answer.split(", "))) == answer.count(", ") + 1,
    }
    return [kind for kind in KINDS if has[kind]]

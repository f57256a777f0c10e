"""Products of a report's text besides its passages: a summary about the whole report,
which overview questions find (R-D7), and the terms of its lists of abbreviations and
tables.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..domain import Chunk, Context, Document, Message, Prompt, Section
from ..domain.cancellation import Cancellation
from ..domain.documents import SECTION_SEPARATOR, document_text
from ..domain.errors import InvalidRequestError
from ..domain.figures import GlossaryEntry
from ..domain.formulas import read_formula
from ..domain.protocols import ChatModel
from ..domain.request import RequestContext
from ..language.sentences import sentences
from ..models.prompts import inert, on_one_line, render
from ..models.replies.stream import complete
from .loaders.records import read_table

MAX_CHARACTERS = 900
"""Characters of an extractive summary: one passage."""
MAX_COUNTRIES = 15
_SUBSTANCE = re.compile(
    r"(?![^.:]{0,24}: )[\"“‘(]?[^\W\d_a-z].{58,448}(?<! est)[.!?][\"”’]?", re.DOTALL
)
"""A whole sentence: no figure, no label with its value, no source line."""
COLUMNS = ("term", "meaning", "other_words", "heading", "label", "formula")
NEEDED = COLUMNS[:2]
SEPARATOR = "|"
"""Between the other words of a cell."""
_LIST = re.compile(
    r"\b(?:abbreviations|acronyms|glossary|abreviaturas|acrónimos|siglas|glosario|abréviations|acronymes|sigles|glossaire)\b",
    re.IGNORECASE,
)
"""The heading of a list of terms."""
_TABLE_ROW = re.compile(
    r"[^:;]{1,80}: (?P<term>[^:;]{1,60}); [^:;]{1,300}: (?P<meaning>.+)"
)
"""A row of a table with named columns, as loaders write it."""
_LINE = re.compile(
    r"[\s|*•-]*(?P<term>\w[^:|\t]{0,59}?)[\s*]*(?:[:|\t]|\s[–—-]\s)[\s*]*(?P<meaning>\w[^|]{2,}?)[\s|]*"
)
_HEADER = re.compile(r"^.*\n(?=[\s|:-]*---)", re.MULTILINE)
"""The names of the columns of a Markdown table."""


def extractive_summary(document: Document) -> str:
    """Return the subject of a report and the beginnings of its chapters, without a
    model; "" if it has neither a description nor a chapter that begins with a sentence.
    """
    about = [
        str(document.metadata[name])
        for name in ("country_name", "year")
        if name in document.metadata
    ]
    named = f" ({', '.join(about)})" if about else ""
    head = f"{document.title}{named}: an overview of the report."
    if rows := [section.metadata for section in document.sections if section.metadata]:
        countries = list(
            dict.fromkeys(
                str(row["country_name"]) for row in rows if "country_name" in row
            )
        )
        years = sorted({row["year"] for row in rows if "year" in row}, key=str)
        table = [f"A table of {len(document.sections)} rows."]
        if countries:
            more = (
                f" and {len(countries) - MAX_COUNTRIES} more"
                if len(countries) > MAX_COUNTRIES
                else ""
            )
            table.append(f"Countries: {', '.join(countries[:MAX_COUNTRIES])}{more}.")
        table += [f"Years: {years[0]} to {years[-1]}."] if years else []
        table.append(f"Its first row: {document.sections[0].text}")
        return "\n".join(filter(None, (head, document.description, " ".join(table))))[
            :MAX_CHARACTERS
        ]
    beginnings = [document.description, *_chapter_beginnings(document.sections)]
    substance = [part for part in beginnings if part]
    if not substance:
        return ""
    kept: list[str] = []
    for part in [head, *substance]:
        if len("\n".join([*kept, part])) <= MAX_CHARACTERS or not kept[1:]:
            kept.append(part)
    return "\n".join(kept)[:MAX_CHARACTERS]


def _chapter_beginnings(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the beginning of the report, then the first sentence of the longest section
    of each other chapter. A section counts if it begins with a sentence of substance; a
    single sentence may be a quotation or a slip.
    """
    chapters: dict[str, list[list[str]]] = {}
    for section in sections:
        parts = sentences(section.text)
        if parts and _SUBSTANCE.fullmatch(parts[0]):
            chapters.setdefault("".join(section.path[:1]), []).append(parts)
    for place, chapter in enumerate(chapters.values()):
        if not place:
            lead, *others = chapter[0]
            for sentence in others:
                # The first chapter takes half of the summary at most.
                if len(lead) + len(sentence) > 450:
                    break
                lead += f" {sentence}"
            yield lead
        elif len(longest := max(chapter, key=lambda parts: len("".join(parts)))) > 1:
            yield longest[0]


class ModelSummary:
    """Summaries by the chat model: one call per report."""

    def __init__(self, chat_model: ChatModel, *, input_tokens: int) -> None:
        self._chat_model = chat_model
        # An estimate for English: four characters a token.
        self._characters = 4 * input_tokens

    def __call__(self, document: Document, cancel: Cancellation) -> str:
        """Return a summary on one line, of the text or of the beginnings of its
        sections. Raises ChatModelError.
        """
        text = document_text(document.sections)
        if len(text) > self._characters:
            share = max(200, self._characters // max(1, len(document.sections)))
            parts = (
                "\n".join([*section.path[-1:], section.text[:share]])
                for section in document.sections
            )
            text = "\n\n".join(parts)[: self._characters]
        user = render(
            "summary_user",
            title=on_one_line(document.title, "report"),
            text=inert(text, "report"),
        )
        prompt = Prompt(
            (Message("system", render("summary_system")), Message("user", user)),
            "Summarise the report.",
            Context(),
        )
        return " ".join(
            complete(self._chat_model, prompt, RequestContext(cancel)).text.split()
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """A way to summarise (R-D7). ``kind`` is part of a document's version."""

    kind: str
    make: Callable[[Document, Cancellation], str]


NONE = Summary("off", lambda document, cancel: "")
EXTRACTIVE = Summary(
    "extractive", lambda document, cancel: extractive_summary(document)
)


def read_glossary(path: Path) -> list[GlossaryEntry]:
    """Return the entries of a CSV table with the columns COLUMNS; only NEEDED are
    required. Raises LoadError: the file is not a table; InvalidRequestError: naming the
    row and the column.
    """
    table = read_table(path)
    header = [name.casefold() for name in next(table, (0, []))[1]]
    wrong = [f"{name}: is missing" for name in NEEDED if name not in header]
    if wrong := [
        *wrong,
        *(f"{name}: is unknown" for name in header if name not in COLUMNS),
    ]:
        raise InvalidRequestError(
            f"{path.name}, row 1, column {wrong[0]}. Valid: {', '.join(COLUMNS)}."
        )
    rows: dict[tuple[str, str, str], int] = {}
    entries: list[GlossaryEntry] = []
    for line, cells in table:
        row = dict.fromkeys(COLUMNS, "") | dict(zip(header, cells, strict=False))
        if empty := [name for name in NEEDED if not row[name]]:
            raise InvalidRequestError(
                f"{path.name}, row {line}, column {empty[0]}: is empty. Fill it in."
            )
        first = rows.setdefault(
            (row["term"].casefold(), row["heading"], row["label"]), line
        )
        if first != line:
            raise InvalidRequestError(
                f"{path.name}, row {line}, column term: {row['term']!r} is in row "
                f"{first} too."
            )
        words = tuple(
            dict.fromkeys(
                filter(None, map(str.strip, row["other_words"].split(SEPARATOR)))
            )
        )
        if row["formula"]:
            read_formula(row["formula"])
        entries.append(
            GlossaryEntry(
                row["term"],
                row["meaning"],
                words,
                row["heading"],
                row["label"],
                row["formula"],
            )
        )
    return entries


def listed_terms(chunks: Iterable[Chunk]) -> Iterator[GlossaryEntry]:
    """Yield the terms of a report's lists of abbreviations: lines ``TERM: meaning``
    below such a heading.
    """
    for chunk in chunks:
        if _LIST.search(chunk.section.split(SECTION_SEPARATOR)[-1]):
            for line in _HEADER.sub("", chunk.text).splitlines():
                if match := _TABLE_ROW.fullmatch(line) or _LINE.fullmatch(line):
                    yield GlossaryEntry(
                        match["term"], match["meaning"], passage=chunk.ordinal
                    )

"""Products of a report's text besides its passages: a summary about the whole report,
which overview questions find (R-D7), and the terms of its lists of abbreviations and
tables.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..domain import Chunk, Context, Document, Message, Prompt, Section
from ..domain.cancellation import Cancellation
from ..domain.documents import SECTION_SEPARATOR, document_text, overview_line
from ..domain.errors import InvalidRequestError
from ..domain.figures import GlossaryEntry
from ..domain.formulas import read_formula
from ..domain.protocols import ChatModel
from ..domain.request import RequestContext
from ..domain.scope import Value
from ..language.groups import split_words
from ..language.sentences import sentences
from ..models.prompts import inert, on_one_line, render
from ..models.replies.stream import complete
from ..questions.tongues import CODES
from .loaders.records import read_table

MAX_CHARACTERS = 900
"""Characters of an extractive summary: one passage."""
MAX_COUNTRIES = 15
_SUBSTANCE = re.compile(
    r"(?![^.:]{0,24}: )[\"“‘(]?[^\W\d_a-z].{58,448}(?<! est)[.!?][\"”’]?", re.DOTALL
)
"""A whole sentence: no figure, no label with its value, no source line."""
COLUMNS = ("term", "meaning", "other_words", "heading", "label", "formula")
LANGUAGE_COLUMNS = tuple(CODES.values())
"""Columns with ways to say a term in other languages."""
SOURCE = "source"
"""The column of an exported table that says where a term comes from; not read."""
NEEDED = COLUMNS[:2]
GLOSSARY_FILE = Path(__file__).with_name("glossary.csv")
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


def extractive_summary(document: Document) -> str:
    """Return the subject of a report and the beginnings of its chapters, without a
    model; "" if it has neither a description nor a chapter that begins with a sentence.
    """
    head = overview_line(document.title, document.metadata)
    table = _table_line(document)
    if table:
        lines = [line for line in (head, document.description, table) if line]
        return "\n".join(lines)[:MAX_CHARACTERS]
    beginnings = _chapter_beginnings(document.sections)
    substance = [part for part in (document.description, *beginnings) if part]
    if not substance:
        return ""
    kept: list[str] = []
    for part in [head, *substance]:
        if len("\n".join([*kept, part])) <= MAX_CHARACTERS or not kept[1:]:
            kept.append(part)
    return "\n".join(kept)[:MAX_CHARACTERS]


def _table_line(document: Document) -> str:
    """Return what a table has: rows, countries and years; "" if the document is
    none.
    """
    countries: dict[str, None] = {}
    years: set[Value] = set()
    has_rows = False
    for section in document.sections:
        row = section.metadata
        if row:
            has_rows = True
        if "country_name" in row:
            countries[str(row["country_name"])] = None
        if "year" in row:
            years.add(row["year"])
    if not has_rows:
        return ""
    parts = [f"A table of {len(document.sections)} rows."]
    if countries:
        names = list(countries)
        shown = ", ".join(names[:MAX_COUNTRIES])
        more = ""
        if len(names) > MAX_COUNTRIES:
            more = f" and {len(names) - MAX_COUNTRIES} more"
        parts.append(f"Countries: {shown}{more}.")
    if years:
        in_order = sorted(years, key=str)
        parts.append(f"Years: {in_order[0]} to {in_order[-1]}.")
    parts.append(f"Its first row: {document.sections[0].text}")
    return " ".join(parts)


def _chapter_beginnings(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the beginning of the report, then the first sentence of the longest section
    of each other chapter. A section counts if it begins with a sentence of substance; a
    single sentence may be a quotation or a slip.
    """
    chapters: dict[str, list[list[str]]] = {}
    for section in sections:
        parts = sentences(section.text)
        if not parts or not _SUBSTANCE.fullmatch(parts[0]):
            continue
        chapter = "".join(section.path[:1])
        chapters.setdefault(chapter, []).append(parts)
    is_first = True
    for texts in chapters.values():
        if is_first:
            is_first = False
            yield _first_lines(texts[0])
            continue
        longest = max(texts, key=lambda parts: len("".join(parts)))
        if len(longest) > 1:
            yield longest[0]


def _first_lines(parts: Sequence[str]) -> str:
    """Return as many sentences as take half of a summary at most, at least one."""
    lead, *others = parts
    for sentence in others:
        if len(lead) + len(sentence) > 450:
            break
        lead += f" {sentence}"
    return lead


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


@cache
def default_glossary() -> Sequence[GlossaryEntry]:
    """Return the entries that ship with the program: the everyday words for country
    reports.
    """
    return tuple(read_glossary(GLOSSARY_FILE))


def rows_of_table(
    path: Path, columns: Sequence[str], needed: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV table with their numbers, by column. Raises LoadError:
    the file is not a table; InvalidRequestError: a column is unknown, or one of
    ``needed`` is missing or empty.
    """
    table = read_table(path)
    header = [name.casefold() for name in next(table, (0, []))[1]]
    wrong = [f"{name}: is missing" for name in needed if name not in header]
    wrong += [f"{name}: is unknown" for name in header if name not in columns]
    if wrong:
        raise InvalidRequestError(
            f"{path.name}, row 1, column {wrong[0]}. Valid: {', '.join(columns)}."
        )
    for line, cells in table:
        row = dict.fromkeys(columns, "") | dict(zip(header, cells, strict=False))
        if empty := [name for name in needed if not row[name]]:
            raise InvalidRequestError(
                f"{path.name}, row {line}, column {empty[0]}: is empty. Fill it in."
            )
        yield line, row


def read_glossary(path: Path) -> list[GlossaryEntry]:
    """Return the entries of a CSV table with the columns COLUMNS and LANGUAGE_COLUMNS;
    only NEEDED are required. Raises as `rows_of_table` does, and InvalidRequestError: a
    term is there twice.
    """
    rows: dict[tuple[str, str, str], int] = {}
    entries: list[GlossaryEntry] = []
    valid = (*COLUMNS, *LANGUAGE_COLUMNS, SOURCE)
    for line, row in rows_of_table(path, valid, NEEDED):
        first = rows.setdefault(
            (row["term"].casefold(), row["heading"], row["label"]), line
        )
        if first != line:
            raise InvalidRequestError(
                f"{path.name}, row {line}, column term: {row['term']!r} is in row "
                f"{first} too."
            )
        if row["formula"]:
            read_formula(row["formula"])
        said_in = {code: split_words(row[code]) for code in LANGUAGE_COLUMNS}
        entries.append(
            GlossaryEntry(
                row["term"],
                row["meaning"],
                split_words(row["other_words"]),
                row["heading"],
                row["label"],
                row["formula"],
                translations={code: said for code, said in said_in.items() if said},
            )
        )
    return entries


def listed_terms(chunks: Iterable[Chunk]) -> Iterator[GlossaryEntry]:
    """Yield the terms of a report's lists of abbreviations: lines ``TERM: meaning``
    below such a heading.
    """
    for chunk in chunks:
        if _LIST.search(chunk.section.split(SECTION_SEPARATOR)[-1]):
            for line in chunk.text.splitlines():
                if match := _TABLE_ROW.fullmatch(line) or _LINE.fullmatch(line):
                    yield GlossaryEntry(
                        match["term"], match["meaning"], passage=chunk.ordinal
                    )

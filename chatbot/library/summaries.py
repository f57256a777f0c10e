"""One summary per report, so that overview questions find a passage about all of it (R-D7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..domain import Context, Document, Message, Prompt, Section, document_text
from ..domain.cancellation import Cancellation
from ..domain.protocols import ChatModel
from ..domain.request import RequestContext
from ..language import sentences
from ..models.prompts import inert, on_one_line, render
from ..models.replies.stream import complete

MAX_CHARACTERS = 900
"""Characters of an extractive summary: one passage."""
MAX_LEAD_CHARACTERS = 450
MAX_COUNTRIES = 15
_SUBSTANCE = re.compile(r"(?![^.:]{0,24}: )[\"“‘(]?[^\W\d_a-z].{58,448}(?<! est)[.!?][\"”’]?", re.DOTALL)
"""A whole sentence: no figure, no label with its value, no source line."""
CHARACTERS_PER_TOKEN = 4


def extractive_summary(document: Document) -> str:
    """Return the subject of a report and the beginnings of its chapters, without a model."""
    about = [str(document.metadata[name]) for name in ("country_name", "year") if name in document.metadata]
    named = f" ({', '.join(about)})" if about else ""
    head = f"{document.title}{named}: an overview of the report."
    if any(section.metadata for section in document.sections):
        return "\n".join(part for part in (head, document.description, _of_table(document)) if part)[:MAX_CHARACTERS]
    parts = [head, document.description, *_chapter_beginnings(document.sections)]
    kept: list[str] = []
    for part in filter(None, parts):
        if len("\n".join([*kept, part])) <= MAX_CHARACTERS or not kept[1:]:
            kept.append(part)
    return "\n".join(kept)[:MAX_CHARACTERS]


def _of_table(document: Document) -> str:
    """Return the number of rows, their countries and years, and the first row."""
    rows = [section.metadata for section in document.sections if section.metadata]
    countries = list(dict.fromkeys(str(row["country_name"]) for row in rows if "country_name" in row))
    years = sorted({row["year"] for row in rows if "year" in row}, key=str)
    parts = [f"A table of {len(document.sections)} rows."]
    if countries:
        more = f" and {len(countries) - MAX_COUNTRIES} more" if len(countries) > MAX_COUNTRIES else ""
        parts.append(f"Countries: {', '.join(countries[:MAX_COUNTRIES])}{more}.")
    if years:
        parts.append(f"Years: {years[0]} to {years[-1]}.")
    return " ".join([*parts, f"Its first row: {document.sections[0].text}"])


def _chapter_beginnings(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the beginning of the report, then the first sentence of the longest section of each other chapter.

    A section counts if it begins with a sentence of substance; a single sentence may be a quotation or a slip.
    """
    chapters: dict[str, list[list[str]]] = {}
    for section in sections:
        found = sentences(section.text)
        if found and _SUBSTANCE.fullmatch(found[0]):
            chapters.setdefault("".join(section.path[:1]), []).append(found)
    for place, chapter in enumerate(chapters.values()):
        if not place:
            lead, *others = chapter[0]
            for sentence in others:
                if len(lead) + len(sentence) > MAX_LEAD_CHARACTERS:
                    break
                lead += f" {sentence}"
            yield lead
        elif len(longest := max(chapter, key=lambda found: len("".join(found)))) > 1:
            yield longest[0]


class ModelSummary:
    """Summaries by the chat model: one call per report."""

    def __init__(self, chat_model: ChatModel, *, input_tokens: int) -> None:
        self._chat_model = chat_model
        self._characters = CHARACTERS_PER_TOKEN * input_tokens

    def __call__(self, document: Document, cancel: Cancellation) -> str:
        """Return a summary of the document, on one line. Raises ChatModelError."""
        text = inert(self._excerpt(document), "report")
        user = render("summary_user", title=on_one_line(document.title, "report"), text=text)
        prompt = Prompt(
            (Message("system", render("summary_system")), Message("user", user)), "Summarise the report.", Context()
        )
        return " ".join(complete(self._chat_model, prompt, RequestContext(cancel)).text.split())

    def _excerpt(self, document: Document) -> str:
        """Return the text if it fits the prompt, else the beginning of every section, or of as many as fit."""
        text = document_text(document.sections)
        if len(text) <= self._characters:
            return text
        share = max(200, self._characters // max(1, len(document.sections)))
        parts = ("\n".join([*section.path[-1:], section.text[:share]]) for section in document.sections)
        return "\n\n".join(parts)[: self._characters]


@dataclass(frozen=True, slots=True)
class Summary:
    """A way to summarise (R-D7). ``kind`` is part of a document's version."""

    kind: str
    make: Callable[[Document, Cancellation], str]


NONE = Summary("off", lambda document, cancel: "")
EXTRACTIVE = Summary("extractive", lambda document, cancel: extractive_summary(document))

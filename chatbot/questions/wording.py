"""The wording of a question: names put into it and taken out, its verb and its sign at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..domain.scope import Named, NamedCountry, NamedDocument, NamedYears
from ..language.countries import usual_name
from .english import pattern, words

OF_ANY_QUESTION = words("idle_words") | words("dependent_words")
"""Words that do not say what a question is about."""
ARTICLE = pattern(r"\bthe\s+$")
_PLACED = pattern(r"(?:since|from|between|with|to|by|against|than)\b")
_COMMAND = pattern(r"^{tell}\b")
_EDGES = pattern(r"^(?:[\s,;:.?!/–—-]|\b(?:and|or|but)\s)+|(?:[\s,;:/–—-]|\s(?:and|or)\b)+(?=[?.!]*\s*$)")


def name_in_words(text: str, country: NamedCountry, *, usual: bool = False) -> str:
    """The country as it is written, with its article; with ``usual`` its usual name instead of its people's."""
    if country.by_people:
        return usual_name(country.keys[0]) if usual else country.text
    return f"the {country.text}" if ARTICLE.search(text[: country.start]) else country.text


def list_in_words(names: Iterable[str], last: str = "and") -> str:
    """The names, each once, as words: "Kenya, Mali and Peru"."""
    names = list(dict.fromkeys(names))
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def add_name(question: str, name: str) -> str:
    """The question with a name, or years, behind it: inside the brackets that it ends with."""
    asked = question.rstrip()
    if asked.endswith(")") and "? (" in asked:
        return f"{asked[:-1]} {placed(name)})"
    return f"{question.rstrip(' ?.!')} {placed(name)}?"


def placed(name: str) -> str:
    """A name with the word that says where or when, if it has none: "in Kenya", "since 2021"."""
    return name if _PLACED.match(name) else f"in {name}"


def edition_in_words(years: Sequence[str]) -> str:
    """The 2023 report, the 2021 and 2023 reports."""
    return f"the {list_in_words(years)} report{'s' if len(years) > 1 else ''}"


def years_in_words(text: str, years: NamedYears) -> str:
    """The years as they are written, or as a number where that is "the latest report"."""
    written = text[years.start : years.end]
    return written if written[-1:].isdigit() else years.text


def remove_names(text: str, names: Iterable[Named | NamedDocument]) -> str:
    """The text with a space for each name."""
    for name in sorted(names, key=lambda name: -name.start):
        text = f"{text[: name.start]} {text[name.end :]}"
    return text


def tidy(text: str) -> str:
    """Single spaces, no sign or "and" left over at either end."""
    text = re.sub(r"\([\s,]*\)", " ", re.sub(r"\s+", " ", text))
    return _EDGES.sub("", re.sub(r"(?<=\()\s+|\s+(?=[?.!,;:)])", "", text)).strip()


def as_sentence(text: str) -> str:
    """The text with a capital, and with the sign that ends a question or a command."""
    text = tidy(text).rstrip(" ?.!")
    if text.endswith(")") and "?" in text:
        return f"{text[:1].upper()}{text[1:]}"
    return f"{text[:1].upper()}{text[1:]}{'.' if _COMMAND.match(text) else '?'}"

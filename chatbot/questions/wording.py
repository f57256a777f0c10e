"""The wording of a question: names put into it and taken out, its verb and its sign at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..domain.reading import Named, NamedCountry, NamedDocument, NamedYears
from ..language.countries import usual_name
from .english import SINGULAR, pattern, words

OF_ANY_QUESTION = words("idle_words") | words("dependent_words") | words("saying_words")
"""They do not say what a question is about."""
ARTICLE = pattern(r"\bthe\s+$")
_PLACED = pattern(r"(?:since|from|between|with|to|by|against|than)\b")
_COMMAND = pattern(r"^{tell}\b")
_EDGES = pattern(r"^(?:[\s,;:.?!/–—-]|\b(?:and|or|but)\s)+|(?:[\s,;:/–—-]|\s(?:and|or)\b)+(?=[?.!]*\s*$)")
_PLURAL = {one: several for several, one in SINGULAR.items()}
_VERB_BEFORE = pattern(r"\b({verb})(?=\s+(?:(?:the|its|their)\s+|(?:the\s+)?{name}+['’]s?\s+)?$)")
_VERB_AFTER = pattern(r"^(?:\s+(?:of|in|for)\s+(?:the\s+)?{name}+)?\s+({verb})\b")
_BESIDE_HEAD = pattern(r"\s+(?:of|at|per)\b.*$")
_SEVERAL = pattern(r"(?:[^sui]s|people)$")
_OF_NAMES = pattern(
    r"\b(?:(?<=how )(?:are|were)|(?<=why )(?:are|were)|(?<=where )(?:are|were)|have|do)(?=\s+{name}(?!['’]))"
)


def name_in_words(text: str, country: NamedCountry, *, usual: bool = False) -> str:
    """The country as it is written, with its article; with ``usual`` its usual name instead of its people's."""
    if country.by_people:
        return usual_name(country.keys[0]) if usual else country.text
    return f"the {country.text}" if ARTICLE.search(text[: country.start]) else country.text


def possessive(name: str) -> str:
    """A name's possessive form: Kenya's, the Philippines'."""
    return f"{name}'" if name.startswith("the ") and name.endswith("s") else f"{name}'s"


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


def put_thing(text: str, covered: str, start: int, end: int, thing: str) -> str:
    """The text with one thing in the place of a list, and the verb that this takes.

    ``covered``: the text with `NAME` for each letter of a name.
    """
    before, after = text[:start], text[end:]
    forms = _PLURAL if _SEVERAL.search(_BESIDE_HEAD.sub("", thing)) else SINGULAR
    if verb := _VERB_BEFORE.search(covered[:start]):
        before = _exchanged(before, verb, forms)
    if verb := _VERB_AFTER.match(covered[end:]):
        after = _exchanged(after, verb, forms)
    return f"{before}{thing}{after}"


def ask_of_one(held: str) -> str:
    """A question of one country, where it was of several: "How have Kenya and Mali changed"."""
    return _OF_NAMES.sub(lambda verb: singular(verb[0]), held)


def singular(verb: str) -> str:
    """The singular form of a verb; one that is singular stays as it is."""
    return _like(verb, SINGULAR)


def _exchanged(text: str, verb: re.Match[str], forms: dict[str, str]) -> str:
    return f"{text[: verb.start(1)]}{_like(verb[1], forms)}{text[verb.end(1) :]}"


def _like(verb: str, forms: dict[str, str]) -> str:
    """The other form with the capital of the first; the verb where it is right."""
    form = forms.get(verb.lower(), verb)
    return form.capitalize() if verb[0].isupper() else form

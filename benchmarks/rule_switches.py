"""Switch rules of reading and ordering off, and tell which of them act on a question.

A rule is a pattern or list of english.toml, a pattern of one of `MODULES` or one of
`FUNCTIONS`. Without it the list is empty, the pattern matches nothing and the function
gives back what it got.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from importlib.resources import files
from typing import Any

import numpy as np

from chatbot.questions import english

QUESTIONS = ["names", "reading", "sides", "kinds", "follow_ups"]
SEARCH = ["search_text", "features", "subjects", "ordering", "relevance"]
LANGUAGE = ["country_names", "statements"]
MODULES = [importlib.import_module(f"chatbot.language.{name}") for name in LANGUAGE]
MODULES += [importlib.import_module(f"chatbot.questions.{name}") for name in QUESTIONS]
MODULES += [importlib.import_module(f"chatbot.search.{name}") for name in SEARCH]
MODULES += [importlib.import_module("chatbot.models.chat.extractive")]
"""In the order in which they import each other."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "country_names.meant_country": lambda words: None,
    "country_names._coded": lambda text, word: None,
    "names.relative_editions": lambda text, editions: [],
    "names.find_title": lambda text, catalog, scope: None,
    "sides.sub_questions": lambda reading, *_, **__: [reading.text],
    "sides.asks_several": lambda reading: False,
    "kinds.series_words": lambda text: "",
    "kinds.small_talk": lambda text: "",
    "kinds.asks_for_prose": lambda text: False,
    "kinds.asks_of_all": lambda question: False,
    "kinds.asks_what_it_is_about": lambda question, names: False,
    "follow_ups.FollowUps.by_rule": lambda self, query, history, scope: query,
    "follow_ups.FollowUps._compared": lambda self, reading, rest, state: "",
    "follow_ups.FollowUps._replaced": lambda self, old, new, state: (
        f"{state.reading.text} ({new})"
    ),
    "ordering.Refiner.by_heading": lambda self, text, hits, request: list(hits),
    "ordering.by_edition": lambda hits, text, scope, terms: list(hits),
    "subjects.missing_figures": lambda *_, **__: None,
    "relevance.Judge._loss": lambda self, question, needed, names, hits: 0.0,
}
"""What stands in for a function that is switched off."""
TABLES = english._RULES.tables
LISTS = {
    name: kind
    for kind in ("patterns", "words")
    for name in TABLES[kind]
    if name != "year"
}
_EXPLAINED: dict[str, Any] = dict(TABLES["code"])
for _room in ("language", "search"):
    _rules = files(f"chatbot.{_room}").joinpath("rules.toml")
    _EXPLAINED |= tomllib.loads(_rules.read_text(encoding="utf-8"))["code"]
_acting: set[str] = set()
"""Patterns and functions that acted since the last question."""


class Recorder:
    """A pattern that notes whether it matched."""

    def __init__(self, rule: str, own: re.Pattern[str]) -> None:
        self.rule, self.own = rule, own

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.own, name)

        def noting(*given: Any) -> Any:
            result = method(*given)
            result = list(result) if name == "finditer" else result
            if result and not (
                name in {"sub", "split"} and result in (given[-1], [given[-1]])
            ):
                _acting.add(self.rule)
            return iter(result) if name == "finditer" else result

        return noting if callable(method) else method


def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": value
        for module in reversed(MODULES)
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern)
    }


RULES = [
    *LISTS,
    *{id(own): rule for rule, own in _patterns().items()}.values(),
    *FUNCTIONS,
]
"""The names of all."""


def _replace(old: Any, new: Any) -> None:
    """In every module or class that has it, under its own name or as an imported
    one.
    """
    modules: list[Any] = [
        module for name, module in sys.modules.items() if name.startswith("chatbot.")
    ]
    classes = [
        _found(rule.rpartition(".")[0]) for rule in FUNCTIONS if rule.count(".") > 1
    ]
    for owner in [*modules, *classes]:
        for name in [name for name, value in vars(owner).items() if value is old]:
            setattr(owner, name, new)


def _found(rule: str) -> Any:
    module, *path = rule.split(".")
    owner = next(one for one in MODULES if one.__name__.endswith(f".{module}"))
    return reduce(getattr, path, owner)


def _read_again() -> None:
    """Make the values of the modules from the lists as they are now; their functions
    and classes stay.
    """
    english._RULES._pattern.cache_clear()
    for module in MODULES:
        before = dict(vars(module))
        importlib.reload(module)
        for name, old in before.items():
            if hasattr(old, "cache_clear"):
                old.cache_clear()
            if callable(old):
                setattr(module, name, old)
            elif not name.startswith("__"):
                _replace(old, vars(module)[name])


def switch_off(tables: dict[str, Any], rule: str) -> None:
    """Make a pattern of the tables match nothing, or a list of words empty."""
    if rule in tables["patterns"]:
        tables["patterns"][rule] = {**tables["patterns"][rule], "pattern": "(?!)"}
    else:
        tables["words"][rule] = {**tables["words"][rule], "words": ""}


def protects(rule: str) -> str:
    """Return what a list or a pattern is for; of a function nothing."""
    tables = TABLES[LISTS[rule]] if rule in LISTS else _EXPLAINED
    purpose: str = tables.get(rule, {}).get("protects", "")
    return purpose


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Switch one rule off."""
    if rule in LISTS:
        table = TABLES[LISTS[rule]]
        stated = table[rule]
        switch_off(TABLES, rule)
        _read_again()
        yield
        table[rule] = stated
        _read_again()
    else:
        old = _found(rule)
        new = FUNCTIONS.get(rule) or re.compile(f"(?!)(?:{old.pattern})", old.flags)
        _replace(old, new)
        yield
        _replace(new, old)


@contextmanager
def recorded() -> Iterator[Callable[[str], set[str]]]:
    """Yield a function that returns the rules that acted since its last call, of lists
    by the text of the question.
    """
    lists = {
        name: re.compile(rf"\b(?:{_either(name)})\b", re.IGNORECASE) for name in LISTS
    }

    def noting(
        rule: str, own: Callable[..., Any], off: Callable[..., Any]
    ) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            result = own(*given, **named)
            if np.any(result != off(*given, **named)):
                _acting.add(rule)
            return result

        return call

    def acted(text: str) -> set[str]:
        found = {
            *_acting,
            *(name for name, words in lists.items() if words.search(text)),
        }
        _acting.clear()
        return found

    noted: list[tuple[Any, Any]] = [
        (own, Recorder(rule, own)) for rule, own in _patterns().items()
    ]
    noted += [
        (_found(rule), noting(rule, _found(rule), off))
        for rule, off in FUNCTIONS.items()
    ]
    for own, recorder in noted:
        _replace(own, recorder)
    yield acted
    for own, recorder in noted:
        _replace(recorder, own)


def _either(name: str) -> str:
    """Any entry of a list, as a pattern."""
    if LISTS[name] == "patterns":
        return english._RULES._pattern(name)
    return "|".join(re.escape(word) for word in TABLES["words"][name]["words"].split())

"""The rules as data: each says what it protects, matches its own examples, leaves the
others alone, and is used.
"""

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chatbot import language, search
from chatbot.checking import wording
from chatbot.language.rules import RuleWords
from chatbot.questions import english

QUESTIONS = Path(english.__file__).with_name("english.toml")
CLAIMS = Path(wording.__file__).with_name("claims.toml")
SEARCH = Path(search.__file__).with_name("rules.toml")
LANGUAGE = Path(language.__file__).with_name("rules.toml")
FILES = {path.parent.name: path for path in (QUESTIONS, CLAIMS, SEARCH, LANGUAGE)}
MODULES = {"language": ("country_names.py", "local_figures.py", "statements.py")}
"""The modules of a room that have rules; of the other rooms all."""
TABLES = {
    room: tomllib.loads(path.read_text(encoding="utf-8"))
    for room, path in FILES.items()
}
EXAMPLES = 2
"""The least sentences that a rule has to match, and those it has to leave alone."""
RULES = [
    (room, kind, name)
    for room, tables in TABLES.items()
    for kind in ("patterns", "words")
    for name in tables.get(kind, {})
]
UNITS = TABLES["checking"]["units"]
CODE = [(room, name) for room, tables in TABLES.items() for name in tables["code"]]
BOUNDARIES = {"_BEGINS", "_ENDS", "_MAY_BEGIN", "_MAY_END", "_OPEN_START", "_OPEN_END"}
"""Patterns that match no text by themselves."""


def rule(room: str, kind: str, name: str) -> dict[str, Any]:
    stated: dict[str, Any] = TABLES[room][kind][name]
    return stated


@cache
def rules_of(room: str) -> RuleWords:
    return RuleWords(f"chatbot.{room}", FILES[room].name)


def read_pattern(room: str, expression: str) -> re.Pattern[str]:
    """Return a pattern as the rules of a room read it; a check reads small letters."""
    return rules_of(room).pattern(expression, any_case=room == "questions")


def has(room: str, kind: str, name: str, sentence: str) -> bool:
    """Tell whether a sentence has what a rule looks for."""
    stated = rule(room, kind, name)
    if kind == "words":
        return not set(stated["words"].split()).isdisjoint(
            re.findall(r"\w+", sentence.lower())
        )
    used = stated.get("used", rf"(?<!\w){{{name}}}(?!\w)")
    return bool(read_pattern(room, used).search(sentence))


@pytest.mark.parametrize(("room", "kind", "name"), RULES)
def test_a_rule_matches_its_examples_and_leaves_the_others_alone(
    room: str, kind: str, name: str
) -> None:
    stated = rule(room, kind, name)
    assert stated["protects"].endswith((".", "?'"))
    assert len(stated["matches"]) >= EXAMPLES
    assert len(stated["leaves"]) >= EXAMPLES
    found = {
        sentence: has(room, kind, name, sentence)
        for sentence in [*stated["matches"], *stated["leaves"]]
    }
    assert found == {
        **dict.fromkeys(stated["matches"], True),
        **dict.fromkeys(stated["leaves"], False),
    }


@pytest.mark.parametrize(("room", "kind", "name"), RULES)
def test_a_rule_is_used_by_the_code_or_by_another_rule(
    room: str, kind: str, name: str
) -> None:
    package = FILES[room].parent.parent
    texts = [FILES[room].read_text(encoding="utf-8")]
    for folder in ("questions", "checking", "search"):
        for path in (package / folder).glob("*.py"):
            texts.append(path.read_text(encoding="utf-8"))
    use = f"{{{name}}}" if kind == "patterns" else f'"{name}"'
    assert any(use in text.replace("used = '", "") for text in texts)


@pytest.mark.parametrize(("room", "name"), CODE)
def test_a_pattern_of_a_module_matches_its_examples_and_leaves_the_others_alone(
    room: str, name: str
) -> None:
    stated = TABLES[room]["code"][name]
    matches = getattr(patterns_of(room)[name], stated.get("how", "search"))
    assert len(stated["matches"]) >= EXAMPLES
    assert len(stated["leaves"]) >= EXAMPLES
    found = [bool(matches(text)) for text in [*stated["matches"], *stated["leaves"]]]
    assert found == [True] * len(stated["matches"]) + [False] * len(stated["leaves"])


@pytest.mark.parametrize("room", FILES)
def test_every_pattern_of_a_module_says_what_it_protects(room: str) -> None:
    """A pattern that is one of the file's by itself is explained there."""
    explained = {*TABLES[room]["code"]}
    words = {read_pattern(room, f"{{{name}}}").pattern for name in own_patterns(room)}
    unexplained = {
        name
        for name, pattern in patterns_of(room).items()
        if without_boundaries(pattern.pattern) not in words
        and name.partition(".")[2] not in BOUNDARIES
    }
    assert explained <= set(patterns_of(room))
    assert unexplained <= explained


def without_boundaries(pattern: str) -> str:
    for boundary in (r"\b", r"(?<![^\W\d])", r"(?!\w)"):
        pattern = pattern.removeprefix(boundary).removesuffix(boundary)
    return pattern


def own_patterns(room: str) -> list[str]:
    return [name for one, kind, name in RULES if (one, kind) == (room, "patterns")]


@cache
def patterns_of(room: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns that the modules of a room make for themselves, but for those
    that read the files of rules.
    """
    patterns = {}
    for path in sorted(FILES[room].parent.glob("*.py")):
        if path.stem == "english" or path.name not in MODULES.get(room, [path.name]):
            continue
        package = f"chatbot.{room}"
        module = importlib.import_module(
            package if path.stem == "__init__" else f"{package}.{path.stem}"
        )
        for name in assigned_names(path):
            value = getattr(module, name, None)
            if isinstance(value, re.Pattern):
                patterns[f"{path.stem}.{name}"] = value
    return patterns


def assigned_names(path: Path) -> set[str]:
    """Return the names that a module gives at its top level."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {
                target.id
                for target in ast.walk(node)
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
            }
    return names


@pytest.mark.parametrize("measure", UNITS)
def test_units_are_told_from_other_words(measure: str) -> None:
    stated = TABLES["checking"]["unit_examples"][measure]
    spellings = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(UNITS[measure])})(?!\w)")
    assert len(stated["matches"]) >= EXAMPLES
    assert len(stated["leaves"]) >= EXAMPLES
    for text in stated["matches"]:
        assert spellings.search(text), text
    for text in stated["leaves"]:
        assert not spellings.search(text), text


def test_a_pattern_holds_no_bar_or_name_that_was_not_read() -> None:
    for room, kind, name in RULES:
        if kind == "patterns":
            read = read_pattern(room, f"{{{name}}}").pattern
            assert not re.search(r"\s\|\s|\{[a-z_]+\}|\n", read), name


def test_entries_are_alternatives() -> None:
    newest = english.pattern("^{newest}$")
    assert newest.match("Most recent")
    assert not newest.match("most recent last")


def test_a_name_that_the_data_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        english.pattern("{nothing}")

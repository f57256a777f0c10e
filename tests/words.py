"""What of the interface is said in words: found in the templates, the scripts and the
answers' code.
"""

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from chatbot.app.web.pages import CHOICES
from chatbot.config import STATIC, TEMPLATES
from chatbot.language.analysis import LANGUAGES
from chatbot.language.counts import count_of

PACKAGE = Path(__file__).parents[1] / "chatbot"
_IN_TEMPLATES = re.compile(r"""\b_\(\s*(?:"([^"]+)"|'([^']+)')""")
_IN_SCRIPTS = re.compile(r"""(?<![\w.])t\(\s*(?:"((?:[^"\\]|\\.)+)"|`([^`$]+)`)""")
_COUNTED = re.compile(
    r"""(?<![\w.])count\((?:[^()]|\([^()]*\))*?,\s*"([\w -]+)",?\s*\)"""
)


def in_templates() -> Iterator[str]:
    """Of the pages; the ways of answering are among them, by a variable."""
    for path in TEMPLATES.glob("*.html"):
        for double, single in _IN_TEMPLATES.findall(path.read_text("utf-8")):
            yield double or single
    for label, description in CHOICES["modes"].values():
        yield from (label, description)
    yield from CHOICES["topics"]


def in_scripts() -> Iterator[str]:
    """Of the page's own scripts, with both numbers of what is counted."""
    for path in (STATIC / "js").rglob("*.js"):
        script = path.read_text("utf-8")
        for double, template in _IN_SCRIPTS.findall(script):
            yield (double or template).replace('\\"', '"')
        for noun in _COUNTED.findall(script):
            yield from (_of(count_of(number, noun)) for number in (1, 2))
        yield from re.findall(r'#showAttached\(\s*"([^"]+)"', script)


@cache
def _modules() -> list[tuple[list[ast.Assign], list[ast.Call]]]:
    """The assignments and the calls of each module, read once: it takes seconds."""
    modules = []
    for path in PACKAGE.rglob("*.py"):
        assignments: list[ast.Assign] = []
        calls: list[ast.Call] = []
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign):
                assignments.append(node)
            elif isinstance(node, ast.Call):
                calls.append(node)
        modules.append((assignments, calls))
    return modules


def in_answers() -> Iterator[str]:
    """Of the fixed words of answers: what is given to `words.Say`."""
    modules = _modules()
    everywhere = _constants(node for assigned, _ in modules for node in assigned)
    for assignments, calls in modules:
        own = _constants(assignments)
        known = {**everywhere, **own}
        for node in calls:
            if _name(node.func) in {"say", "counted"}:
                yield from _said(node, known, own)
            elif _name(node.func) in {"step", "StepEvent"} and len(node.args) > 1:
                # The page says a step's fixed words in its own language.
                yield from (
                    text for text in _texts(node.args[1], own) if text[:1].isupper()
                )
    yield from (
        _of(count_of(number, noun))
        for noun in ("model call", "token", "second")
        for number in (1, 2)
    )
    yield from (language.capitalize() for language in (*LANGUAGES, "arabic"))


@cache
def in_messages() -> set[str]:
    """Of errors, and notes. A value has the number of its place: "{1} is empty." """
    found = set[str]()
    for assignments, calls in _modules():
        known = dict[str, list[str]]()
        for assigned in assignments:
            target = assigned.targets[0]
            if isinstance(target, ast.Name):
                known.setdefault(target.id, []).extend(_message(assigned.value, {}))
        for call in calls:
            name = _name(call.func)
            if name.endswith("Error") or name == "for_field":
                found.update(
                    text
                    for argument in call.args[:2]
                    for text in _message(argument, known)
                )
        found.update(
            text
            for name, texts in known.items()
            for text in texts
            if name.endswith("_NOTE")
        )
        found.update(
            f"{{1}} {text}"
            for name in ("problem", "damaged")
            for text in known.get(name, ())
        )
    return found


def _message(node: ast.expr, known: dict[str, list[str]]) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        places = itertools.count(1)
        parts = (
            part.value if isinstance(part, ast.Constant) else f"{{{next(places)}}}"
            for part in node.values
        )
        yield "".join(map(str, parts))
    else:
        yield from _texts(node, known)


def _said(
    node: ast.Call, known: dict[str, list[str]], own: dict[str, list[str]]
) -> Iterator[str]:
    """``own``: the texts that the module gives names; ``known``: all modules."""
    if isinstance(node.func, ast.Name) and node.func.id == "counted":
        nouns = _texts(node.args[2], own)
        yield from (_of(count_of(number, noun)) for noun in nouns for number in (1, 2))
    elif node.args:
        yield from _texts(node.args[0], known)


def _texts(node: ast.expr, known: dict[str, list[str]]) -> Iterator[str]:
    """Each text that an expression can be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name) and node.id in known:
        yield from known[node.id]
    elif isinstance(node, ast.IfExp):
        yield from (*_texts(node.body, known), *_texts(node.orelse, known))
    elif isinstance(node, ast.Subscript):
        yield from _texts(node.value, known)
    elif isinstance(node, ast.BoolOp | ast.Dict):
        for value in node.values:
            yield from _texts(value, known)


def _constants(assignments: Iterable[ast.Assign]) -> dict[str, list[str]]:
    """The texts that a name is given."""
    found: dict[str, list[str]] = {}
    for node in assignments:
        for name, value in _assigned(node.targets[0], node.value):
            found.setdefault(name, []).extend(filter(None, _texts(value, {})))
    return found


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each name of an assignment with what it may be given."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        yield from _assigned(target, value.body)
        yield from _assigned(target, value.orelse)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for name, part in zip(target.elts, value.elts, strict=False):
            yield from _assigned(name, part)


def _of(counted: str) -> str:
    return "{number} " + counted.partition(" ")[2]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

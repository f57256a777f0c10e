"""The cascade of a page's own styles: what is declared for each element.

tinycss2 parses the sheets and cssselect2 matches the selectors. Here are the order of
the cascade (origin, importance, layers, specificity), nested rules, shorthands and
`var()`. Linked sheets are not fetched.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import tinycss2
from cssselect2 import ElementWrapper, SelectorError, compile_selector_list
from lxml.html import HtmlElement

from ...domain.errors import read_table

Values = dict[str, str]
"""Values by property, in lower case."""
Declaration = tuple[bool, str, str]
"""Whether it is important, its property and its value."""
Ranked = tuple[tuple[Any, ...], str, str]
"""The rank of a declaration in the cascade, its property and its value."""
MAX_STEPS = 9_000_000
"""Comparisons of elements with selectors, or what takes as long: less than a
microsecond. Pages that keep their whole design in themselves need a third.
"""
_MAX_VALUE = 2_000
"""Characters of a value; longer ones are not read."""
TABLE = read_table(__package__, "css")
STEPS: dict[str, int] = TABLE["steps"]
_CAPITALS = re.compile(r"\b[A-Z]{4}[A-Z_]*\b")


def _pattern(text: str) -> str:
    """Return a pattern with those of the words in it."""
    words: Values = TABLE["words"]
    return _CAPITALS.sub(lambda word: f"(?:{_pattern(words[word[0]])})", text)


_PROPERTIES = {
    name: {part: re.compile(_pattern(text)) for part, text in parts.items()}
    for name, parts in TABLE["properties"].items()
}
_CONDITION = re.compile(_pattern(TABLE["condition"]), re.IGNORECASE | re.VERBOSE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(r",(?![^()]*\))")
_PLAIN = re.compile(r"""(?:[\w\s:;.,#%+!-]|"[\w\s-]*"|'[\w\s-]*')*""")
"""Styles whose declarations are what is between semicolons."""
_DATA = re.compile(r"url\(\s*[\"']?data:[^)]*\)", re.IGNORECASE)
_ATTRIBUTE, _AUTHOR, _INLINE = range(3)
"""Origins. Of browsers' own sheet a rule counts less than any other of a page."""
_UNREADABLE = (
    SelectorError,
    AttributeError,
    IndexError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
)
"""What cssselect2 raises for selectors that are wrong, cut off or nested too deep."""


class _TooLargeError(Exception):
    """What is left of the steps does not do for a page."""


class _Siblings(list[HtmlElement]):
    """The children of an element; each that a slice of them yields is a step."""

    def __init__(self, elements: list[HtmlElement], cascade: "Cascade") -> None:
        super().__init__(elements)
        self._cascade = cascade

    def __getitem__(self, part: Any) -> Any:
        for index in range(*part.indices(len(self))):
            self._cascade.spend(1 + self._cascade.weight)
            yield super().__getitem__(index)


class Element(ElementWrapper):  # type: ignore[misc]
    """An element whose relatives count as steps: a few combinators could take hours in
    a deep page.
    """

    cascade: "Cascade"

    @cached_property
    def etree_children(self) -> _Siblings:
        children = [child for child in self.etree_element if type(child.tag) is str]
        return _Siblings(children, self.cascade)

    @cached_property
    def lineage(self) -> "list[Element]":
        lineage = [self]
        while lineage[-1].parent is not None:
            lineage.append(lineage[-1].parent)
        return lineage

    @property
    def ancestors(self) -> "list[Element]":
        if self.parent is None:
            return []
        lineage: list[Element] = self.parent.lineage
        self.cascade.spend(1 + self.cascade.weight * len(lineage) // 4)
        return lineage

    @property
    def previous_siblings(self) -> "Iterator[Element]":
        element = self.previous
        while element is not None:
            self.cascade.spend(self.cascade.weight)
            yield element
            element = element.previous

    def iter_children(self) -> "Iterator[Element]":
        for child in super().iter_children():
            self.cascade.spend(STEPS["child"] + self.cascade.weight)
            yield child


class Cascade:
    """The declarations of the sheets of a page, those of browsers first."""

    def __init__(self, page: HtmlElement) -> None:
        self.is_whole = True
        """False: its sheets were too much to be followed."""
        self.is_over = False
        """True: so were the styles of its elements."""
        self._is_following = True
        self._steps = MAX_STEPS
        self.weight = 1
        """Steps of the selector that is compared."""
        self._count = 0
        self._written: dict[str, list[Declaration]] = {}
        self._layers: dict[str, float] = {"": math.inf}
        self._rules: dict[str, list[tuple[Any, int, list[Ranked]]]] = defaultdict(list)
        kind: Any = type("_Element", (Element,), {"cascade": self})
        self.root: Element = kind.from_html_root(page)
        text = TABLE["browser"]
        for style in page.iter("style"):
            text += f"@media {style.get('media') or 'all'} {{{style.text}\n}}"
        text = _DATA.sub("url()", text)
        try:
            self.spend(5 * len(text))
            self._read(tinycss2.parse_stylesheet(text))
        except (_TooLargeError, RecursionError):
            self._follow_less()
        self._is_following = False

    def spend(self, steps: int) -> None:
        """Count steps. While styles are followed, too many of them end that."""
        self._steps -= steps
        if self._steps < 0 and self._is_following:
            raise _TooLargeError

    def _follow_less(self) -> None:
        """Follow no sheet any more, the second time no style at all."""
        self.is_over = not self.is_whole
        self.is_whole = False
        self._steps = MAX_STEPS
        self.weight = 1
        self._rules.clear()

    def declared(self, element: Element) -> Values:
        """Return what counts for an element, without what it inherits."""
        while not self.is_over:
            self._is_following = True
            try:
                self.spend(10)
                return self._cascaded(element)
            except _TooLargeError:
                self._follow_less()
            finally:
                self._is_following = False
        return {}

    def _cascaded(self, element: Element) -> Values:
        attributes = element.etree_element.attrib
        matching = []
        for attribute, pattern in TABLE["attributes"].items():
            if attribute in attributes:
                text = pattern.format(attributes[attribute])
                origin = _INLINE if attribute == "style" else _ATTRIBUTE
                for part in _parts(text):
                    written = self._read_inline(part)
                    matching.append(self._ranked(written, origin, math.inf, ()))
        keys = [f".{name}" for name in element.classes]
        for key in ("*", element.local_name, f"#{element.id}", *keys):
            for test, cost, declarations in self._rules.get(key, ()):
                self.spend(cost)
                self.weight = cost
                if test(element):
                    self.spend(2 * len(declarations))
                    matching.append(declarations)
        self.weight = 1
        winners: Values = {}
        for _, name, value in sorted(chain.from_iterable(matching)):
            if name == "all":
                winners.clear()
            winners.pop(name, None)  # the one that counts most comes last
            winners[name] = value
        return winners

    def _read_inline(self, text: str) -> list[Declaration]:
        self.spend(5)
        if text not in self._written:
            self.spend(50 + 5 * len(text))
            self._written[text] = _declarations(tinycss2.parse_blocks_contents(text))
        return self._written[text]

    def _ranked(
        self,
        written: Iterable[Declaration],
        origin: int,
        layer: float,
        specificity: Any,
    ) -> list[Ranked]:
        ranked = []
        for important, name, value in written:
            rank = (origin, layer, specificity, self._count)
            if important:
                rank = (origin + _INLINE, -layer, specificity, self._count)
            ranked.append((rank, name, value))
            self._count += 1
        return ranked

    def _read(self, nodes: list[Any], outer: str = "", layer: str = "") -> None:
        """Add the rules of a sheet or block. ``outer`` is the selector around it."""
        self.spend(len(outer))
        if outer:
            self._add(outer, nodes, self._layers[layer])
        for node in nodes:
            if node.type == "qualified-rule":
                selector = tinycss2.serialize(node.prelude)
                if outer:
                    selector = self._nested(selector, outer)
                block = tinycss2.parse_blocks_contents(node.content)
                self._read(block, selector, layer)
            elif node.type == "at-rule":
                self._read_at(node, outer, layer)

    def _read_at(self, node: Any, outer: str, layer: str) -> None:
        prelude = _COMMENT.sub(" ", tinycss2.serialize(node.prelude)).strip()
        if node.lower_at_keyword == "layer":
            base = layer
            for name in (prelude or f"({self._count})").split(","):
                layer = f"{base}.{name.strip()}"
                self._layers.setdefault(layer, len(self._layers))
        elif node.lower_at_keyword == "scope":
            outer = prelude.removeprefix("(").removesuffix(")")
        elif not _CONDITION.fullmatch(f"{node.lower_at_keyword} {prelude}"):
            return
        parse = tinycss2.parse_blocks_contents if outer else tinycss2.parse_rule_list
        self._read(parse(node.content or []), outer, layer)

    def _nested(self, selector: str, outer: str) -> str:
        """Return the selector of a rule, written out with the one around it."""
        parts = []
        for part in _COMMA.split(selector.replace(":scope", "&")):
            self.spend(len(outer) * (1 + part.count("&")))
            whole = part if "&" in part else f"& {part}"
            parts.append(whole.replace("&", f":is({outer})"))
        return ",".join(parts)

    def _add(self, selector: str, nodes: list[Any], layer: float) -> None:
        written = _declarations(nodes)
        if not written:
            return
        self.spend(20 * len(selector))
        cost = 1 + len(selector) // 100 + selector.count("[")
        for pattern, plain in TABLE["selectors"].items():
            selector = re.sub(pattern, plain, selector)
        try:
            compiled = compile_selector_list(selector)
        except _UNREADABLE:
            return  # as in a browser, one wrong selector ends the rule
        for each in compiled:
            key = each.lower_local_name or "*"
            if each.class_name is not None:
                key = f".{each.class_name}"
            if each.id is not None:
                key = f"#{each.id}"
            if each.pseudo_element is None and not each.never_matches:
                self.spend(2 * len(written))
                ranked = self._ranked(written, _AUTHOR, layer, each.specificity)
                self._rules[key].append((each.test, cost, ranked))


def _can_hide(name: str) -> bool:
    return name in _PROPERTIES or name.startswith("--")


def _parts(text: str) -> list[str]:
    """Return an inline style in parts, of plain ones only those that can hide."""
    if not _PLAIN.fullmatch(text):
        return [text]
    parts = text.split(";")
    return [part for part in parts if _can_hide(part.split(":")[0].strip().lower())]


def _declarations(nodes: Iterable[Any]) -> list[Declaration]:
    """Return the valid declarations among nodes that count, by their longhands."""
    found: dict[tuple[bool, str], str] = {}
    for node in nodes:
        if node.type != "declaration" or not _can_hide(node.lower_name):
            continue
        text = tinycss2.serialize(node.value)[:_MAX_VALUE].lower()
        value = " ".join(_COMMENT.sub(" ", text).split())
        for longhand, part in expanded(node.lower_name, value).items():
            found.pop((node.important, longhand), None)  # the last one counts
            found[node.important, longhand] = part
    return [(*key, value) for key, value in found.items()]


def expanded(name: str, value: str) -> Values:
    """Return a declaration by its longhands; nothing if it is invalid, or of a property
    that hides nothing. What refers to a variable stays whole until it has a value.
    """
    if name.startswith("--") or "var(" in value:
        return {name: value}
    matches = {
        longhand: pattern.fullmatch(value)
        for longhand, pattern in _PROPERTIES.get(name, {}).items()
    }
    if not any(matches.values()):
        return {}
    # What a shorthand leaves out is set to its first value.
    return {
        longhand: match[match.lastindex or 0] if match else "initial"
        for longhand, match in matches.items()
    }

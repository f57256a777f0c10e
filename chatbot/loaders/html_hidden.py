"""Text of a page that a browser does not show: of no size, in the colour of its ground, transparent, off the page.

By the styles in the page itself. A sheet that is only linked to is not known: what it may colour is taken as seen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lxml import etree
from lxml.html import HtmlElement

Color = tuple[int, int, int] | str
"""A name that is not near white or black is the same as itself only."""
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_NAMED = {
    "white": _WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240), "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245), "floralwhite": (255, 250, 240), "azure": (240, 255, 255), "black": _BLACK,
}  # fmt: skip
_NEAR = 12
"""A difference, of 255, in each part of two colours that an eye does not see."""
_COLOR = re.compile(r"#[0-9a-f]{3,8}\b|rgba?\([^()]{1,60}\)|\b[a-z]+\b")
_NUMBER = re.compile(r"[\d.]+%?")
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))\s*(px|pt|em|rem|ex|ch|vw|vh|%|)")
_PIXELS = {"px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 12.0, "vh": 8.0, "%": 0.16}
_SMALLEST = 1.5
"""Pixels: smaller letters are not read."""
_OFF_PAGE = -400.0
_OFFSETS = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
_SIZES = ("width", "height", "max-width", "max-height")
_CLIPPED = re.compile(r"rect\(\s*(?:0|1px)|inset\(\s*(?:50|100)%|circle\(\s*0|scale[xy]?\(\s*0\s*[,)]")
_SIMPLE = re.compile(r"[\w*-]*(?:[.#][\w-]+)?")
_LONGEST_SHEET = 500_000
_KNOWN = {
    "color", "background", "background-color", "background-image", "font", "font-size", "visibility", "display",
    "opacity", "clip", "clip-path", "transform", "overflow", *_OFFSETS, *_SIZES,
}  # fmt: skip

Declared = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Look:
    """How an element is shown. ``color`` and ``ground`` None: not known."""

    color: Color | None = _BLACK
    ground: Color | None = _WHITE
    transparent: bool = False
    tiny: bool = False
    invisible: bool = False
    gone: bool = False
    """Hidden with all that is in it, whatever that declares."""

    @property
    def unseen(self) -> bool:
        return self.gone or self.invisible or self.tiny or self.transparent or _are_same(self.color, self.ground)

    def within(self, declared: Declared) -> _Look:
        """How an element with these declarations looks inside an element that looks like this."""
        look = self
        if color := declared.get("color", ""):
            look = replace(look, color=_color(color), transparent=_is_transparent(color))
        ground = declared.get("background-color") or declared.get("background", "")
        if ground and not _is_transparent(ground):
            look = replace(look, ground=_color(ground))
        if "background-image" in declared:
            look = replace(look, ground=None)
        if size := declared.get("font-size") or declared.get("font", "").partition("/")[0]:
            look = replace(look, tiny=_pixels(size, otherwise=_SMALLEST) < _SMALLEST)
        if shown := declared.get("visibility"):
            look = replace(look, invisible=shown in {"hidden", "collapse"})
        return replace(look, gone=look.gone or _is_gone(declared))


def drop_unseen(page: HtmlElement) -> None:
    """Empties, in place, what the page does not show; the elements stay."""
    sheet = _sheet(page)
    linked = bool(page.xpath("//link[contains(@rel, 'stylesheet')]"))
    looks = [_Look()]
    for event, element in etree.iterwalk(page, events=("start", "end")):
        if event == "start":
            look = looks[-1]
            if declared := _declared(element, sheet):
                look = look.within(declared)
            if linked and "background" not in declared and "background-color" not in declared and _is_named(element):
                look = replace(look, ground=None)
            looks.append(look)
            if look.unseen:
                element.text = None
        else:
            looks.pop()
            if looks[-1].unseen:
                element.tail = None


def _is_named(element: HtmlElement) -> bool:
    return "class" in element.attrib or "id" in element.attrib


def _declared(element: HtmlElement, sheet: Mapping[str, Declared]) -> Declared:
    found: dict[str, str] = {}
    if sheet:
        tag, names = str(element.tag), [f".{name}" for name in element.get("class", "").split()]
        for name in ("*", "", *names, f"#{element.get('id', '')}"):
            found |= sheet.get(name, {}) if name in sheet else {}
            found |= sheet.get(tag + name, {})
    if value := element.get("bgcolor"):
        found["background-color"] = value.lower()
    if value := element.get("color") or element.get("text"):
        found["color"] = value.lower()
    if style := element.get("style"):
        found |= _declarations(style)
    return found


def _declarations(style: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in style.lower().split(";"))
    known = ((name.strip(), value.replace("!important", "").strip()) for name, _, value in pairs)
    return {name: value for name, value in known if value and name in _KNOWN}


def _sheet(page: HtmlElement) -> dict[str, dict[str, str]]:
    """The rules for one element, class or id; those for a printer or a narrow window (@media) are left out."""
    first, *others = "".join(page.xpath("//style/text()"))[:_LONGEST_SHEET].split("/*")
    text = "".join([first, *(other.partition("*/")[2] for other in others)])
    rules: dict[str, dict[str, str]] = defaultdict(dict)
    depth, selectors = 0, ""
    for piece in re.split(r"([{}])", text):
        if piece in {"{", "}"}:
            depth = max(0, depth + (1 if piece == "{" else -1))
        elif not depth:
            selectors = piece
        elif depth == 1 and "@" not in selectors and (style := _declarations(piece)):
            for selector in filter(_SIMPLE.fullmatch, map(str.strip, selectors.split(","))):
                rules[selector] |= style
    return dict(rules)


def _are_same(color: Color | None, ground: Color | None) -> bool:
    if isinstance(color, tuple) and isinstance(ground, tuple):
        return all(abs(one - other) <= _NEAR for one, other in zip(color, ground, strict=True))
    return color is not None and color == ground


def _is_gone(declared: Declared) -> bool:
    if declared.get("display") == "none" or _pixels(declared.get("opacity", "1")) <= 0.05:
        return True
    if any(_pixels(declared[name]) <= _OFF_PAGE for name in _OFFSETS if name in declared):
        return True
    if _CLIPPED.search(" ".join(declared.get(name, "") for name in ("clip", "clip-path", "transform"))):
        return True
    empty = any(_pixels(declared[name], otherwise=9) <= 1 for name in _SIZES if name in declared)
    return empty and declared.get("overflow") in {"hidden", "clip"}


def _pixels(value: str, *, otherwise: float = 0.0) -> float:
    length = _LENGTH.match(value)
    return float(length[1]) * _PIXELS.get(length[2], 1.0) if length else otherwise


def _is_transparent(color: str) -> bool:
    if color == "transparent" or re.fullmatch(r"#(?:[0-9a-f]{3}0|[0-9a-f]{6}0[0-9a-f])", color):
        return True
    parts = _NUMBER.findall(color) if color.startswith("rgba") else []
    return len(parts) == 4 and float(parts[3].rstrip("%").strip(".") or 0) == 0


def _color(value: str) -> Color | None:
    """The colour that a declaration names; None for a picture, a gradient or a variable."""
    if "(" in value and not value.startswith("rgb"):
        return None
    found = _COLOR.search(value)
    return _plain(found[0]) if found else None


def _plain(text: str) -> Color | None:
    if text.startswith("#"):
        digits = text[1:]
        digits = "".join(2 * digit for digit in digits[:3]) if len(digits) < 6 else digits[:6]
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if text.startswith("rgb"):
        parts = [_part(number) for number in _NUMBER.findall(text)[:3]]
        return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None
    return _NAMED.get(text, text)


def _part(number: str) -> int:
    try:
        return round(float(number.rstrip("%")) * (2.55 if number.endswith("%") else 1))
    except ValueError:  # "1.2.3"
        return 0

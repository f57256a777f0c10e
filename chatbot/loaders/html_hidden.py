"""Remove text that a browser does not show: of no size, in the colour of its background, transparent, off the page.

Only the styles in the page itself count. Elements that a linked sheet may colour are taken as visible.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from lxml import etree
from lxml.html import HtmlElement

Style = dict[str, str]
"""CSS properties by name, in lower case. "" as a background: unknown."""
Color = tuple[int, ...] | str
"""Red, green and blue, or a name that is only equal to itself."""
_NAMED = {
    "white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240), "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245), "floralwhite": (255, 250, 240), "azure": (240, 255, 255), "black": (0, 0, 0),
}  # fmt: skip
_INDISTINGUISHABLE = 12
"""Largest difference, of 255, in each part of two colours that look the same."""
_COLOR = re.compile(r"#[0-9a-f]{3,8}\b|rgba?\([^()]{1,60}\)|\b[a-z]+\b")
_COLOR_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%?)")
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))\s*(px|pt|em|rem|ex|ch|vw|vh|%|)")
_PIXELS = {"px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 12.0, "vh": 8.0, "%": 0.16}
_MIN_FONT_PIXELS = 1.5
_OFF_PAGE_PIXELS = -400.0
_OFFSETS = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
_SIZES = ("width", "height", "max-width", "max-height")
_CLIPPED = re.compile(r"rect\(\s*(?:0|1px)|inset\(\s*(?:50|100)%|circle\(\s*0|scale[xy]?\(\s*0\s*[,)]")
_SIMPLE_SELECTOR = re.compile(r"[\w*-]*(?:[.#][\w-]+)?")
_MAX_SHEET_CHARACTERS = 500_000
_PROPERTIES = {
    "color", "background", "background-color", "background-image", "font", "font-size", "visibility", "display",
    "opacity", "clip", "clip-path", "transform", "overflow", *_OFFSETS, *_SIZES,
}  # fmt: skip


def drop_hidden(page: HtmlElement) -> None:
    """Empty the elements that the page does not show, in place."""
    sheet = _sheet(page)
    linked = bool(page.xpath("//link[contains(@rel, 'stylesheet')]"))
    styles: list[tuple[Style, bool]] = [({"color": "black", "background": "white"}, False)]  # and whether it hides
    for event, element in etree.iterwalk(page, events=("start", "end")):
        if event == "start":
            style, hidden = styles[-1]
            declared = _declared(element, sheet)
            named = linked and ("class" in element.attrib or "id" in element.attrib)
            unknown = named and "background" not in declared and "background-color" not in declared
            if declared or unknown:
                style = _computed(style, declared) | ({"background": ""} if unknown else {})
                hidden = _is_hidden(style)
            styles.append((style, hidden))
            if hidden:
                element.text = None
        else:
            styles.pop()
            if styles[-1][1]:
                element.tail = None


def _computed(parent: Style, declared: Mapping[str, str]) -> Style:
    """Return the inherited properties of an element: color, background, font-size, visibility, display."""
    style = dict(parent)
    if color := declared.get("color"):
        style["color"] = color
    background = declared.get("background-color") or declared.get("background", "")
    if background and not _is_transparent(background):
        style["background"] = background
    if "background-image" in declared:
        style["background"] = ""
    if size := declared.get("font-size") or declared.get("font", "").partition("/")[0]:
        style["font-size"] = size
    if visibility := declared.get("visibility"):
        style["visibility"] = visibility
    empty = any(_pixels(declared.get(name, ""), otherwise=9) <= 1 for name in _SIZES)
    if (
        declared.get("display") == "none"
        or _pixels(declared.get("opacity", "1")) <= 0.05
        or any(_pixels(declared.get(name, "")) <= _OFF_PAGE_PIXELS for name in _OFFSETS)
        or _CLIPPED.search(" ".join(declared.get(name, "") for name in ("clip", "clip-path", "transform")))
        or (empty and declared.get("overflow") in {"hidden", "clip"})
    ):
        style["display"] = "none"  # with everything in it
    return style


def _is_hidden(style: Style) -> bool:
    if style.get("display") == "none" or style.get("visibility") in {"hidden", "collapse"}:
        return True
    if _pixels(style.get("font-size", ""), otherwise=_MIN_FONT_PIXELS) < _MIN_FONT_PIXELS:
        return True
    color, background = _color(style["color"]), _color(style["background"])
    if isinstance(color, tuple) and isinstance(background, tuple):
        differences = (abs(one - other) for one, other in zip(color, background, strict=True))
        if all(difference <= _INDISTINGUISHABLE for difference in differences):
            return True
    return _is_transparent(style["color"]) or (color is not None and color == background)


def _declared(element: HtmlElement, sheet: Mapping[str, Style]) -> Style:
    declared: Style = {}
    if sheet:
        tag, names = str(element.tag), [f".{name}" for name in element.get("class", "").split()]
        for name in ("*", "", *names, f"#{element.get('id', '')}"):
            declared |= sheet.get(name, {}) if name else {}
            declared |= sheet.get(tag + name, {})
    if value := element.get("bgcolor"):
        declared["background-color"] = value.lower()
    if value := element.get("color") or element.get("text"):
        declared["color"] = value.lower()
    return declared | _declarations(element.get("style") or "")


def _declarations(text: str) -> Style:
    pairs = (part.partition(":") for part in text.lower().split(";"))
    values = ((name.strip(), value.replace("!important", "").strip()) for name, _, value in pairs)
    return {name: value for name, value in values if value and name in _PROPERTIES}


def _sheet(page: HtmlElement) -> dict[str, Style]:
    """Return the rules for one element, class or id. Those for a printer or a narrow window (@media) are left out."""
    first, *others = "".join(page.xpath("//style/text()"))[:_MAX_SHEET_CHARACTERS].split("/*")
    text = "".join([first, *(other.partition("*/")[2] for other in others)])
    rules: dict[str, Style] = defaultdict(dict)
    depth, selectors = 0, ""
    for piece in re.split(r"([{}])", text):
        if piece in {"{", "}"}:
            depth = max(0, depth + (1 if piece == "{" else -1))
        elif not depth:
            selectors = piece
        elif depth == 1 and "@" not in selectors and (style := _declarations(piece)):
            for selector in filter(_SIMPLE_SELECTOR.fullmatch, map(str.strip, selectors.split(","))):
                rules[selector] |= style
    return dict(rules)


def _pixels(value: str, *, otherwise: float = 0.0) -> float:
    length = _LENGTH.match(value)
    return float(length[1]) * _PIXELS.get(length[2], 1.0) if length else otherwise


def _is_transparent(color: str) -> bool:
    if color == "transparent" or re.fullmatch(r"#(?:[0-9a-f]{3}0|[0-9a-f]{6}0[0-9a-f])", color):
        return True
    parts = _COLOR_PART.findall(color) if color.startswith("rgba") else []
    return len(parts) == 4 and float(parts[3][0]) == 0


def _color(value: str) -> Color | None:
    """Return the colour of a declaration; None for a picture, a gradient or a variable."""
    match = _COLOR.search(value) if "(" not in value or value.startswith("rgb") else None
    if match is None:
        return None
    text = match[0]
    if text.startswith("#"):
        return tuple(bytes.fromhex(text[1:7] if len(text) > 6 else "".join(2 * digit for digit in text[1:4])))
    if text.startswith("rgb"):
        parts = [round(float(part) * (2.55 if percent else 1)) for part, percent in _COLOR_PART.findall(text)]
        return tuple(parts[:3]) if len(parts) > 2 else None
    return _NAMED.get(text, text)

"""What a page shows: the computed styles of its elements, as far as they hide text.

Hidden is what is not drawn, of no size, in the colour of its background, transparent,
cut off, or off the page. What cannot be told is shown.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from lxml.html import HtmlElement
from tinycss2.color5 import parse_color

from .css import STEPS, TABLE, Cascade, Values, expanded

Color = tuple[float, ...] | None
"""Red, green, blue and opacity, from 0 to 1; None: it cannot be told."""
_VARIABLE = re.compile(
    r"var\(\s*([\w-]+)\s*(?:,((?:[^()]|\((?:[^()]|\([^()]*\))*\))*))?\)"
)
_LENGTH = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([a-z]*|%)")
_FUNCTION = re.compile(r"(\w+)\(((?:[^()]|\([^()]*\))*)\)")
_PART = re.compile(r"(?:[^\s,()]|\([^()]*\))+")
_EFFECTS = [(re.compile(text), plain) for text, plain in TABLE["effects"].items()]
_MIN_FONT_PIXELS = 1.5
_MIN_OPACITY = 0.05
_MIN_CONTRAST = 12 / 255
"""A smaller difference in each part of a colour cannot be seen."""
_OFF_PAGE_PIXELS = -400.0


class _Style(NamedTuple):
    """Computed values of an element."""

    values: Values
    background: Color
    amounts: dict[str, float]
    """Of font, scale, opacity, x and y, with what is around it."""


def drop_hidden(page: HtmlElement) -> bool:
    """Empty the elements that the page does not show, in place. Returns whether all of
    its styles were followed: those of a hostile page could take hours.
    """
    if not page.xpath(TABLE["styled"]):
        return True
    cascade = Cascade(page)
    linked = page.xpath("//link[contains(@rel, 'stylesheet')]")
    styles: dict[tuple[object, ...], tuple[_Style, bool]] = {}
    first = _Style({}, rgba("white"), TABLE["amounts"])
    waiting = [(cascade.root, first)]
    while waiting:
        element, around = waiting.pop()
        declared = cascade.declared(element)
        if linked and (element.classes or element.id):
            # A linked sheet may colour it.
            declared = {"background-image": "unknown()"} | declared
        case = (id(around), *declared.items())
        if case not in styles:
            style = _computed(around, declared)
            cascade.spend(STEPS["style"] + len(style.values) + 5 * len(declared))
            styles[case] = style, _is_seen(style)
        style, is_seen = styles[case]
        if not is_seen:
            element.etree_element.text = None
        for child in element.iter_children():
            if not is_seen:
                child.etree_element.tail = None
            waiting.append((child, style))
    return cascade.is_whole


def _computed(around: _Style, declared: Values) -> _Style:
    values = dict.fromkeys(TABLE["inherited"], "")
    for name, value in around.values.items():
        if name in values or name.startswith("--"):
            values[name] = value
    inherited = dict(values)
    variables = values | declared
    for name, value in declared.items():
        for side, part in expanded(name, _substituted(value, variables)).items():
            values[side] = part
            if part == "inherit" and side != "font-size":
                values[side] = around.values.get(side, "")
            elif part in TABLE["wide"]:
                values[side] = inherited.get(side, "")
    amounts = _drawn(values, around.amounts)
    background = around.background
    for name in ("background-color", "background-image"):
        if values.get(name, "none") not in {"none", ""}:
            background = _painted(background, values[name])
    return _Style(values, background, amounts)


def _drawn(values: Values, around: dict[str, float]) -> dict[str, float]:
    """Return how large, opaque and far off the page an element is drawn."""
    amounts = dict(around)
    font = amounts["font"]
    size = values.get("font-size", "")
    size = TABLE["font_sizes"].get(size, size)
    amounts["font"] = _pixels(size, font / 100, font, font)
    drawing = ""
    for name, written in TABLE["drawing"].items():
        if values.get(name):
            drawing += written.format(values[name]) + " "
    for pattern, plain in _EFFECTS:
        drawing = pattern.sub(plain, drawing)
    for name, text in _FUNCTION.findall(drawing):
        percent = TABLE["percentages"].get(name)
        if percent is None:
            continue
        amount = _pixels(text, percent, amounts["font"], 1.0)
        if name in {"scale", "opacity"}:
            amounts[name] *= min(abs(amount), 1.0)
        else:
            amounts[name[-1]] += amount
    return amounts


def _painted(background: Color, value: str) -> Color:
    """Return the colour of a background with one more over it; None if it has several,
    or they cannot be told.
    """
    colors = {rgba(value)}
    if "gradient(" in value:
        colors = {rgba(part) for part in _PART.findall(value[value.index("(") + 1 :])}
        colors.discard(None)
    color = colors.pop() if len(colors) == 1 else None
    if color and color[3] <= 0.5:
        return background
    return color


def _is_seen(style: _Style) -> bool:
    values, background, amounts = style
    indent = _pixels(values["text-indent"], 12.8, amounts["font"], 0.0)
    if (
        amounts["opacity"] <= _MIN_OPACITY
        or amounts["font"] * amounts["scale"] < _MIN_FONT_PIXELS
        or values["visibility"] in {"hidden", "collapse"}
        or min(amounts["x"] + indent, amounts["y"]) <= _OFF_PAGE_PIXELS
    ):
        return False
    color = rgba(values["-webkit-text-fill-color"] or values["color"] or "black")
    if color is None or values["text-shadow"]:
        return True
    if background is None:
        return color[3] > _MIN_OPACITY
    parts = zip(color[:3], background, strict=False)
    return any(color[3] * abs(top - under) > _MIN_CONTRAST for top, under in parts)


@lru_cache(10_000)
def rgba(value: str) -> Color:
    for pattern, written in TABLE["colors"].items():
        value = re.sub(pattern, written, value)
    try:
        color = parse_color(value)
        if color.space in {"hsl", "hwb"}:
            color = color.to("srgb")
    except (ValueError, AttributeError):
        return None  # a function of browsers only, or without arguments
    parts = [part or 0.0 for part in color.coordinates]
    if color.space not in TABLE["rgb"]:
        lightness, *chroma = color.to("lab").coordinates
        if max(map(abs, chroma)) > 4.0:
            return None
        parts = [lightness / 100] * 3
    return (*parts, color.alpha)


def _pixels(value: str, percent: float, em: float, otherwise: float) -> float:
    """Return a length in pixels. Of a calculation the terms are added."""
    lengths = _LENGTH.findall(value.replace("- ", "-"))
    units: dict[str, float] = TABLE["units"] | {
        "%": percent,
        "em": em,
        "ex": em / 2,
        "ch": em / 2,
    }
    if not lengths:
        return otherwise
    return sum(float(number) * units.get(unit, 1.0) for number, unit in lengths)


def _substituted(value: str, variables: Values) -> str:
    """Return a value with those of its variables; "unset" if one has none."""
    for _ in range(20):
        match = _VARIABLE.search(value)
        if match is None:
            return " ".join(value.split())
        part = variables.get(match[1], match[2] or "unset")
        value = f"{value[: match.start()]} {part} {value[match.end() :]}"[:2_000]
    return "unset"

"""Web pages: the main content with its headings as section paths, without navigation,
banners and hidden text. trafilatura 2.3 kept 63 to 75 % of the words of a page of short
entries (nigeria-2024.html); this keeps all.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Mapping
from colorsys import hls_to_rgb
from itertools import chain
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from ...domain import Loaded
from ...domain.documents import lay_out
from ...domain.errors import LoadError, read_table
from . import Fit, Sample
from .html_metadata import publication_properties
from .html_outline import NEVER_CONTENT, HtmlReader, main_part
from .sections import apart, one_line
from .text import clean, decode, opened

MAX_MARKUP = 2_000_000
"""Tags and attributes. libxml2 needs 120 bytes for each. The longest pages of Wikipedia
have some 100,000.
"""
# By a lookahead, which is tried once: a few comments could be split in millions of
# ways. Possessive groups skip too little in Python up to 3.11.4 (gh-106052).
_START = re.compile(
    r"(?is)(?=((?:\s|<!--(?:(?!-->).)*-->|<\?xml[^>]*\?>)*))\1<(?:!doctype\s+html|html|head|body)\b"
)
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# As browsers do: pages that declare these use the larger set, and UTF-16 could not
# declare itself in ASCII.
_EFFECTIVE_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
    "utf-32": "utf-8",
}


class HtmlLoader:
    noun = "an HTML page"
    suffixes = (".html", ".htm", ".xhtml")
    isolated = True

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if _START.match(sample.text):
            return Fit.CERTAIN
        # A fragment without <html> is still a page.
        return (
            Fit.DECLARED
            if sample.is_named(self.suffixes) and _TAG.search(sample.text)
            else Fit.NO
        )

    def load(self, path: Path) -> Loaded:
        with opened(path) as file:
            return page_sections(file.read(), name=path.name)


def page_sections(html: bytes, *, name: str) -> Loaded:
    """Read a page. ``name`` is its name in messages; the stem is the title if there is
    no other. Raises LoadError: it is not a page, has no text, or is too large.
    """
    page = _parsed(html_text(html, name), name)
    if page is None:
        raise LoadError(f"{name} has no text.")
    properties = publication_properties(page)
    titles = [
        _meta(page, "og:title"),
        *(one_line(page.findtext(f".//{tag}") or "") for tag in ("title", "h1")),
    ]
    description = _meta(page, "description") or _meta(page, "og:description")
    labels = [label.strip() for label in _meta(page, "keywords").split(",")]
    reader = HtmlReader()
    reader.read(main_part(page))
    sections = lay_out(reader.outline.sections())
    if not sections:
        raise LoadError(
            f"{name} has no text. A page that is built by scripts has to be saved "
            "as seen, or as PDF."
        )
    title = next(filter(None, [reader.outline.title(), *titles]), Path(name).stem)
    return Loaded(
        title,
        sections,
        labels=tuple(dict.fromkeys(filter(None, labels))),
        description=description,
        properties=properties,
    )


def read_fragment(html: str, name: str, reader: HtmlReader) -> None:
    """Read a part of a page, as far as it is seen. Raises LoadError as `page_sections`
    does.
    """
    page = _parsed(html, name) if html.strip() else None
    if page is None:
        return
    for element in page.iter(*NEVER_CONTENT):
        element.clear(keep_tail=True)
    reader.read(page)


def _parsed(text: str, name: str) -> HtmlElement | None:
    """Return the root of what a page shows, None if it is empty."""
    if text.count("<") + text.count("=") > MAX_MARKUP:
        raise LoadError(
            f"{name} is too large to be read at once. Split it into smaller pages."
        )
    parser = HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        no_network=True,
    )
    try:
        page: HtmlElement | None = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise LoadError(f"{name} is not an HTML page.") from error
    # libxml2 drops deeper elements, and reports it in its log only.
    if any(
        entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log
    ):
        raise LoadError(
            f"{name} nests its elements too deep to be read. Save it as text or "
            "PDF and try again."
        )
    if page is not None:
        drop_hidden(page)
        _part_scripts(page)
    return page


def _part_scripts(page: HtmlElement) -> None:
    """Rewrite superscripts and subscripts that follow a number, in place, so that they
    are not read as its digits.
    """
    for element in page.iter("sup", "sub"):
        before = element.getprevious()
        parent = element.getparent()
        if before is not None:
            text = before.tail or before.text_content()
        else:
            text = "" if parent is None else parent.text or ""
        if (signs := element.text_content()) != (
            written := apart(signs, text, lowered=element.tag == "sub")
        ):
            element.clear(keep_tail=True)
            element.text = written


def html_text(html: bytes, name: str) -> str:
    """Decode a page by its byte order mark, as UTF-8, as declared in it, or by a guess.
    Raises LoadError: it is not text, or no encoding fits.
    """
    # Browsers look in the first 1,024 bytes; some pages have it later.
    declared = _CHARSET.search(html[:4096])
    if html.startswith(_MARKS) or declared is None:
        return decode(html, name)
    try:
        return clean(html.decode())
    except UnicodeDecodeError:
        pass  # the declared encoding comes next
    try:
        encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        # As in a browser, a wrong byte becomes a replacement character.
        return clean(
            html.decode(_EFFECTIVE_ENCODINGS.get(encoding, encoding), errors="replace")
        )
    except (
        LookupError,
        AssertionError,
    ):  # a made-up name, or a codec that makes no text
        return decode(html, name)


def _meta(page: HtmlElement, name: str) -> str:
    values = page.xpath("//meta[@name=$name or @property=$name]/@content", name=name)
    return one_line(values[0]) if values else ""


# Text that a browser does not show: of no size, in the colour of its background,
# transparent, off the page. Only the styles in the page itself count. Elements that a
# linked sheet may colour are taken as visible.
Style = dict[str, str]
"""CSS properties by name, in lower case. "" as a background: unknown."""
Color = tuple[int, ...] | str
"""Red, green and blue, or a name that is only equal to itself."""
_NAMES = read_table(__package__, "hidden")
_NAMED = {name: tuple(parts) for name, parts in _NAMES["colors"].items()}
_PIXELS = _NAMES["pixels"]
_PROPERTIES = _NAMES["properties"]
_KNOWN = frozenset(chain.from_iterable(_PROPERTIES.values()))
_COLOR = re.compile(r"#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^()]{1,60}\)|\b[a-z]+\b")
_WHITE = re.compile(
    r"(?:ok(?:lch|lab)\(\s*(?:1(?:\.0*)?|0?\.9[89]\d*|(?:9[89]|100)(?:\.\d+)?%)\s"
    r"|\bl(?:ch|ab)\(\s*(?:9[89]|100)(?:\.\d+)?%?\s|hwb\(\S+ (?:9[89]|100)%"
    r"|color\([\w-]+(?: (?:1|0?\.9[89]\d*|(?:9[89]|100)%)(?:\.0*)?){3}"
    r"|color-mix\([^(),]*, ?white\b[^(),]*, ?white\b)[^()/]*\)"
)
_CLEAR = re.compile(
    r"transparent|#(?:[0-9a-f]{3}0|[0-9a-f]{6}0[0-9a-f])"
    r"|(?:[^/]*/|(?:rgb|hsl)a?\((?:[^,]*,){3})\s*"
    r"(?:0?\.0[0-4]\d*|0(?:\.0*)?|[0-4](?:\.\d+)?%)\s*\)"
)
"""Colours through which everything is seen, or nearly so."""
_COLOR_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%?)")
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))\s*(px|pt|em|rem|ex|ch|vw|vh|%|)")
_MIN_FONT_PIXELS = 1.5
_OPACITY = re.compile(r"opacity\(\s*([\d.]+%?)")
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})\s?|\\(.)")
_CLIPPED = re.compile(
    r"rect\(\s*(?:0|1px)|inset\(\s*(?:50|100)%|circle\(\s*0|scale[xy]?\(\s*0\s*[,)]"
    r"|rotate[xy]\(\s*-?90deg|\b[xy] -?90deg|matrix\(\s*0"
    r"|polygon\(\s*0 0\s*\)|path\(.m0 0 ?z?.\)|ellipse\(\s*0|blur\(\s*(?:[2-9]\d|\d{3})"
    # A mask through which nothing is seen.
    r"|gradient\((?:\s*(?:transparent|#0000(?:0000)?|rgba\([^()]*[,/] *0\))"
    r"[^,()]*(?:,|(?=\))))+\)"
)
_FAR_BEFORE = re.compile(r"-(?:[4-9]\d\d|\d{4,})")
_FAR_BEYOND = re.compile(r"(?:[2-9]\d\d|\d{4,})(?:v[wh]|%)")
_PLACED = re.compile(r"left|top|right|bottom|inset.*|clip")
"""Properties that only count for an element with a position."""
_MOVED = re.compile(r"translate(?:x|y|3d)?\(([^()]*)\)")
_APPLIED = re.compile(
    r"@layer\b.*|@supports\b(?! ?not).*"
    r"|@media(?: (?:only )?(?:all|screen))?(?: and)? ?"
    r"(?:\( ?min-width: ?\d{1,3}px ?\))?",
    re.IGNORECASE,
)
"""Conditions of a sheet that hold in any window. Those for a printer or a narrow window
do not.
"""
_SIMPLE_SELECTOR = re.compile(r"[\w*-]*(?:[.#][\w-]+)?")


def drop_hidden(page: HtmlElement) -> None:
    """Empty the elements that the page does not show, in place."""
    sheet = _sheet(page)
    linked = bool(page.xpath("//link[contains(@rel, 'stylesheet')]"))
    styles: list[tuple[Style, bool]] = [
        ({"color": "black", "background": "white"}, False)
    ]  # and whether it hides
    for event, element in etree.iterwalk(page, events=("start", "end")):
        if event == "start":
            style, hidden = styles[-1]
            declared = _declared(element, sheet)
            named = linked and ("class" in element.attrib or "id" in element.attrib)
            unknown = (
                named
                and "background" not in declared
                and "background-color" not in declared
            )
            if declared or unknown:
                style = _computed(style, declared) | (
                    {"background": ""} if unknown else {}
                )
                hidden = _is_hidden(style)
            styles.append((style, hidden))
            if hidden:
                element.text = None
        else:
            styles.pop()
            if styles[-1][1]:
                element.tail = None


def _computed(parent: Style, declared: Mapping[str, str]) -> Style:
    """Return the inherited properties of an element: color, background, font-size,
    visibility, display.
    """
    style = dict(parent)
    if color := declared.get("-webkit-text-fill-color") or declared.get("color"):
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
    if _is_switched_off(declared) or _is_moved_away(declared) or _is_cut_off(declared):
        style["display"] = "none"  # with everything in it
    return style


def _is_switched_off(declared: Mapping[str, str]) -> bool:
    """Return whether an element is not drawn, or nearly transparent or of no size."""
    if declared.get("display") in {"none", "table-column", "table-column-group"}:
        return True
    if declared.get("content-visibility") == "hidden":
        return True
    shares = [declared.get(name, "1") for name in _PROPERTIES["shares"]]
    shares += _OPACITY.findall(declared.get("filter", ""))
    return any(_share(value) <= 0.05 for value in shares)


def _is_moved_away(declared: Mapping[str, str]) -> bool:
    """Return whether letters are moved so far to the left that they lie over each
    other, or off the page.
    """
    if _pixels(declared.get("letter-spacing", "")) <= -6.0:
        return True
    ends = [declared.get(name, "") for name in _PROPERTIES["ends"]]
    moves: list[str] = []
    for name in _PROPERTIES["offsets"]:
        # Below and on the right a page can be scrolled to.
        top, *sides = declared.get(name, "").split(" ")
        moves += [top, *sides[2:]]
    for move in (
        declared.get("translate", ""),
        *_MOVED.findall(declared.get("transform", "")),
    ):
        moves += re.split(r"[\s,]+", move)
    if any(_pixels(end) >= 5_000.0 or _FAR_BEYOND.match(end) for end in ends):
        return True
    return any(_pixels(move) <= -400.0 or _FAR_BEFORE.match(move) for move in moves)


def _is_cut_off(declared: Mapping[str, str]) -> bool:
    """Return whether nothing of an element remains within its clip or its box."""
    clips = [declared.get(name, "") for name in _PROPERTIES["clips"]]
    if _CLIPPED.search(" ".join(clips)):
        return True
    if declared.get("overflow") not in {"hidden", "clip"}:
        return False
    return any(
        _pixels(declared.get(name, ""), otherwise=9) <= 1
        for name in _PROPERTIES["sizes"]
    )


def _is_hidden(style: Style) -> bool:
    if style.get("display") == "none" or style.get("visibility") in {
        "hidden",
        "collapse",
    }:
        return True
    if (
        _pixels(style.get("font-size", ""), otherwise=_MIN_FONT_PIXELS)
        < _MIN_FONT_PIXELS
    ):
        return True
    color = _color(style["color"])
    background = _color(style["background"])
    if (
        isinstance(color, tuple)
        and isinstance(background, tuple)
        # Of 255: a smaller difference in each part cannot be seen.
        and all(
            abs(one - other) <= 12 for one, other in zip(color, background, strict=True)
        )
    ):
        return True
    return _is_transparent(style["color"]) or (
        color is not None and color == background
    )


def _declared(element: HtmlElement, sheet: Mapping[str, Style]) -> Style:
    declared: Style = {}
    if sheet:
        tag = str(element.tag)
        selectors = ["*", f"{tag}*", tag]
        for name in element.get("class", "").split():
            selectors += [f".{name}", f"{tag}.{name}"]
        id = element.get("id", "")
        for selector in (*selectors, f"#{id}", f"{tag}#{id}"):
            declared |= sheet.get(selector, {})
    if "popover" in element.attrib:
        declared["display"] = "none"
    background = element.get("bgcolor")
    if background:
        declared["background-color"] = background.lower()
    colour = element.get("color") or element.get("text")
    if colour:
        declared["color"] = colour.lower()
    return _placed(declared | _declarations(element.get("style") or ""))


def _placed(declared: Style) -> Style:
    """Return declarations without those that need a position where there is none."""
    if declared.get("position", "static") != "static":
        return declared
    return {name: declared[name] for name in declared if not _PLACED.fullmatch(name)}


def _declarations(text: str) -> Style:
    text = _ESCAPE.sub(_escaped, text.lower())
    text = _WHITE.sub("white", _without_comments(text).replace("calc(", ""))
    pairs = (part.partition(":") for part in text.split(";"))
    values = (
        (name.strip(), value.replace("!important", "").strip())
        for name, _, value in pairs
    )
    return {name: value for name, value in values if value and name in _KNOWN}


def _sheet(page: HtmlElement) -> dict[str, Style]:
    """Return the rules for one element, class or id, without those of conditions that
    may not hold.
    """
    # The rest of a longer style sheet is not read.
    text = _without_comments("".join(page.xpath("//style/text()"))[:500_000])
    rules: dict[str, Style] = defaultdict(dict)
    blocks: list[str] = []
    before = ""
    for piece in re.split(r"([{}])", text):
        if piece == "{":
            blocks.append(" ".join(before.rpartition(";")[2].split()))
        elif piece == "}":
            del blocks[-1:]
        elif 0 < len(blocks) < 9 and all(map(_APPLIED.fullmatch, blocks[:-1])):
            style = _declarations(piece)
            for selector in map(str.strip, blocks[-1].split(",")):
                if style and _SIMPLE_SELECTOR.fullmatch(selector):
                    rules[selector] |= style
        before = piece
    return dict(rules)


def _without_comments(css: str) -> str:
    first, *others = css.split("/*")
    return "".join([first, *(other.partition("*/")[2] for other in others)])


def _escaped(match: re.Match[str]) -> str:
    code = int(match[1] or "0", 16)
    return chr(code).lower() if 0 < code < 0x110000 else match[2] or ""


def _share(value: str) -> float:
    length = _LENGTH.match(value)
    return float(length[1]) * (0.01 if length[2] == "%" else 1.0) if length else 1.0


def _pixels(value: str, *, otherwise: float = 0.0) -> float:
    length = _LENGTH.match(value)
    return float(length[1]) * _PIXELS.get(length[2], 1.0) if length else otherwise


def _is_transparent(color: str) -> bool:
    return _CLEAR.fullmatch(color) is not None


def _color(value: str) -> Color | None:
    """Return the colour of a declaration; None for a picture, a gradient or a
    variable.
    """
    match = (
        _COLOR.search(value)
        if "(" not in value or value.startswith(("rgb", "hsl"))
        else None
    )
    if match is None:
        return None
    text = match[0]
    if text.startswith("#"):
        return tuple(
            bytes.fromhex(
                text[1:7]
                if len(text) > 6
                else "".join(2 * digit for digit in text[1:4])
            )
        )
    if text.startswith("hsl"):
        numbers = [float(part) for part, _ in _COLOR_PART.findall(text)]
        if len(numbers) < 3:
            return None
        hue, saturation, lightness = numbers[:3]
        shares = hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
        return tuple(round(255 * share) for share in shares)
    if text.startswith("rgb"):
        parts = [
            round(float(part) * (2.55 if percent else 1))
            for part, percent in _COLOR_PART.findall(text)
        ]
        return tuple(parts[:3]) if len(parts) > 2 else None
    return _NAMED.get(text, text)

"""The words, text lines and ruled lines of a PDF page. Lengths are PDF points, y runs
down from the top of the page.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from operator import attrgetter
from statistics import median

from pdfminer.pdftypes import int_value, list_value, resolve1
from pdfminer.psparser import LIT
from pdfminer.utils import decode_text

from ..sections import NOTED, SUPERSCRIPTS
from .damage import DAMAGE
from .drawing import Char, DrawnPage, Loss, Placed
from .measures import read_measure

_UNREADABLE = re.compile(
    r"(?:\(cid:\d+\))+|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffd]+"
)
_NO_UNICODE = re.compile(r"\(cid:\d+\)|[\ud800-\udfff\ufffd]")
_SPACE = read_measure("words.space")
_SCRIPT = read_measure("words.script")
_LINE = read_measure("words.line")
_SPREAD_FIGURE = re.compile(
    r"\d+(?:[.,/:]\d+)+"
)  # with a sign in it: a row of one-digit cells has none
_EVEN = read_measure("words.even")
_DOUBLED = read_measure("words.doubled")
_NEAR = read_measure("words.near")
_SPREAD_SINGLE = read_measure("words.spread_single")
_SPREAD_LETTERS = read_measure("words.spread_letters")
_SPREAD_LEAST = read_measure("words.spread_least")
_SPREAD_GAP = read_measure("words.spread_gap")
_SPREAD_END = read_measure("words.spread_end")

Span = tuple[float, float]
"""Left and right end, in points."""
Style = tuple[float, bool]
"""Size, and whether it is bold."""


@dataclass(slots=True)
class Word(Placed):
    """A word. ``text`` runs from left to right as on the page, also if it is read the
    other way (`text_of`).
    """

    @property
    def x(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def y(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class Rule:
    x0: float
    x1: float
    y: float


@dataclass(slots=True)
class Line(Word):
    """Words on one baseline in reading order. ``size``: of the larger letters;
    ``left``, ``right``: of the column.
    """

    left: float = 0.0
    right: float = 0.0

    @property
    def style(self) -> Style:
        return self.size, self.bold


def page_words(page: DrawnPage) -> list[Word]:
    """Return the page's upright words, unordered."""
    upright = [char for char in page.letters if not char.turn]
    chars = _without_doubled(upright)
    if len(chars) < len(upright):
        once = set(map(id, chars))
        for char in upright:
            if id(char) not in once:
                page.losses[Loss.DOUBLED].append(char.text)
    if any(map(is_right_to_left, {char.text for char in chars})):
        chars = _with_marks(chars)
    in_text = _spaces_in_text(chars)
    # With more spaces the words of the page are separated by them.
    spaced = sum(char.text == " " for char in chars) > 0.08 * len(chars)
    # Where words are separated by spaces, letters may be spread.
    gap = 0.3 if spaced else _SPACE  # times the font size
    words = []
    for line in _lines_of_letters(chars):
        for group in _groups_of(line, in_text, gap):
            word = _word_of(group, page.losses[Loss.NO_UNICODE])
            if word.text:
                words.append(word)
    words = _with_spread_words(_with_spread_figures(words))
    return _with_scripts(_with_small_capitals(words))


def _lines_of_letters(chars: Iterable[Char]) -> list[list[Char]]:
    """Group letters by their tops, which lie within a few points in a line, each line
    from left to right.
    """
    at_top: dict[float, list[Char]] = defaultdict(list)
    for char in chars:
        at_top[char.top].append(char)
    lines: list[list[Char]] = []
    before = -inf
    for top in sorted(at_top):
        if top > before + _LINE:
            lines.append([])
        lines[-1] += at_top[top]
        before = top
    for line in lines:
        line.sort(key=attrgetter("x0"))
    return lines


def _groups_of(
    line: Iterable[Char], in_text: Collection[int], gap: float
) -> list[list[Char]]:
    """Split a line's letters into words. ``in_text``: as `_spaces_in_text` returns it;
    ``gap``: the narrowest gap between words, times the font size.
    """
    groups: list[list[Char]] = []
    last = space = None
    for char in line:
        if not char.text or char.text.isspace():
            space = char
            continue
        is_new = last is None or _are_apart(last, char, gap)
        if last and space and not is_new:
            # A space that pads a cell, or is of another line, separates no letters that
            # touch.
            touch = char.x0 <= last.x1 + _EVEN * last.size
            is_new = id(space) in in_text or not touch
        if is_new:
            groups.append([])
        groups[-1].append(char)
        last = char
        space = None
    return groups


def _are_apart(last: Char, char: Char, gap: float) -> bool:
    if char.x0 > last.x1 + gap * last.size:
        return True
    if abs(char.top - last.top) > _LINE:
        return True
    is_script = char.size < _SCRIPT * last.size
    return is_script and last.text.isalnum() and char.text.isdigit()


def _word_of(group: Sequence[Char], unknown: list[str]) -> Word:
    """Join letters. Those without a Unicode value are added to ``unknown`` instead."""
    first = group[0]
    x1 = first.x1
    top = first.top
    bottom = first.bottom
    size = first.size
    bold = 0
    printed = ""
    for char in group:
        printed += char.text
        bold += char.bold
        x1 = max(x1, char.x1)
        top = min(top, char.top)
        bottom = max(bottom, char.bottom)
        size = max(size, char.size)
    if not printed.isascii() or not printed.isalnum():
        readable = _UNREADABLE.sub("", printed)
        if readable != printed:
            for char in group:
                if _NO_UNICODE.match(char.text):
                    unknown.append(char.text)
        printed = mend_word(readable)
    return Word(
        text=printed,
        x0=first.x0,
        x1=x1,
        top=top,
        bottom=bottom,
        size=size,
        bold=2 * bold > len(group),
    )


_HIDDEN_FIELD = (
    2 | 32
)  # flags: hidden, not shown on the screen (ISO 32000-1, table 165)
_FIELD_SIZE = read_measure("words.field_size")


def form_values(page: DrawnPage) -> list[Word]:
    """Return the values of a form's fields at their places. The drawing operators of
    the page do not have them. A field or link that cannot be understood is left out.
    """
    words: list[Word] = []
    try:
        annotations = list_value(page.page_obj.annots)
    except DAMAGE:
        return words
    for annotation in annotations:
        with suppress(*DAMAGE):
            words += _field_words(resolve1(annotation), float(page.height))
    return words


def _field_words(field: object, height: float) -> list[Word]:
    if not isinstance(field, dict) or field.get("Subtype") is not LIT("Widget"):
        return []
    box = list(map(resolve1, resolve1(field.get("Rect")) or ()))
    if len(box) != 4 or int_value(field.get("F", 0)) & _HIDDEN_FIELD:
        return []
    value = resolve1(field.get("V"))
    parent = resolve1(field.get("Parent"))
    if value is None and isinstance(parent, dict):  # several fields show one value
        value = resolve1(parent.get("V"))
    text = decode_text(value) if isinstance(value, bytes) else ""
    lines = text[:5_000].splitlines()
    left = float(box[0])
    middle = height - (box[1] + box[3]) / 2
    top = middle - 0.6 * _FIELD_SIZE * len(lines) + 0.1 * _FIELD_SIZE
    words: list[Word] = []
    for line in lines:
        at = left
        for word in line.split():
            end = at + 0.5 * _FIELD_SIZE * len(word)
            words.append(
                Word(word, at, end, top, top + _FIELD_SIZE, _FIELD_SIZE, bold=False)
            )
            at = end + 0.25 * _FIELD_SIZE
        top += 1.2 * _FIELD_SIZE
    return words


def _with_small_capitals(words: list[Word]) -> list[Word]:
    """Join capitals to the larger initial before them: "K" and "ENYA" become
    "KENYA".
    """
    initials = defaultdict(list)
    for word in words:
        if len(word.text) == 1 and word.text.isupper():
            initials[round(word.x1)].append(word)
    if not initials:
        return words
    joined: set[int] = set()
    for word in words:
        if not word.text.isupper():
            continue
        first = next(
            (
                initial
                for initial in _ending_near(initials, word.x0)
                if _is_larger_initial(initial, word)
            ),
            None,
        )
        if first is not None and word.x0 - first.x1 < _SPACE * first.size:
            first.text = first.text + word.text
            first.x1 = word.x1
            first.size = word.size
            joined.add(id(word))
    return [word for word in words if id(word) not in joined]


def _ending_near(ends: Mapping[int, Sequence[Word]], x: float) -> Iterator[Word]:
    """Yield the words that end within about two points of ``x``; ``ends`` has them by
    the rounded end.
    """
    for point in range(round(x) - 2, round(x) + 3):
        yield from ends.get(point, ())


def _is_larger_initial(initial: Word, word: Word) -> bool:
    """Return whether small capitals could follow this initial on its line."""
    on_line = abs(initial.bottom - word.bottom) < 0.15 * initial.size
    return on_line and 0.6 < word.size / initial.size < 0.95


def _with_scripts(words: list[Word]) -> list[Word]:
    """Join a raised figure to the number before it as "2023⁴", and a lowered one to the
    letters before it as "CO2".
    """
    small = _small_words(words)
    if not small:
        return words
    ends: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        ends[round(word.x1)].append(word)
    joined: set[int] = set()
    for script in small:
        beside = _ending_near(ends, script.x0)
        base = next((word for word in beside if _is_beside(script, word)), None)
        if base is None or script.x0 - base.x1 > 2 * _SPACE * base.size:
            continue
        added = _script_text(script, base)
        if not added:
            continue
        base.text += added
        base.x1 = max(base.x1, script.x1)
        ends[round(base.x1)].append(base)
        joined.add(id(script))
    return [word for word in words if id(word) not in joined]


def _small_words(words: Sequence[Word]) -> list[Word]:
    """Return the numbers and single letters that are much smaller than the largest
    word.
    """
    largest = max((word.size for word in words), default=0.0)
    return [
        word
        for word in words
        if word.size < _SCRIPT * largest
        and (len(word.text) == 1 or word.text.isdecimal())
    ]


def _is_beside(script: Word, word: Word) -> bool:
    """Return whether a word is large enough for a script, at the same height."""
    is_larger = _SCRIPT * word.size > script.size
    return is_larger and word.top - 2 < script.y < word.bottom + 2


def _script_text(script: Word, base: Word) -> str:
    """Return what a small figure or letter adds to the word before it, "" if it does
    not belong to that.
    """
    is_raised_figure = (
        script.text.isdecimal() and base.bottom - script.bottom > 0.15 * base.size
    )
    if is_raised_figure and (base.text[-1].isdigit() or NOTED.search(base.text)):
        return script.text.translate(SUPERSCRIPTS)
    if not base.text[-1].isalpha():
        return ""
    is_lowered = script.y - base.y > 0.1 * base.size and base.size > script.size
    if is_raised_figure or (is_lowered and script.text.isalnum()):
        return script.text
    return ""


def _without_doubled(chars: list[Char]) -> list[Char]:
    """Drop letters that are printed a second time, slightly shifted, to look bold."""
    if not _has_doubled(chars):
        return chars
    repeated: set[int] = set()
    kept: dict[tuple[str, float], list[Char]] = defaultdict(list)
    for char in sorted(chars, key=attrgetter("x0")):
        row = char.top // _DOUBLED
        for at in (row - 1, row, row + 1):
            # Few begin just before it: those that were repeated are not kept.
            for other in reversed(kept[char.text, at]):
                if char.x0 - other.x0 >= _DOUBLED:
                    break
                near = _NEAR * max(other.size, 1)
                apart = max(char.x0 - other.x0, abs(char.top - other.top))
                if max(apart, abs(char.size - other.size)) < near:
                    repeated.add(id(char))
        if id(char) not in repeated:
            kept[char.text, row].append(char)
    return [char for char in chars if id(char) not in repeated]


def _has_doubled(chars: list[Char]) -> bool:
    """Return whether two equal letters begin within the same square of a few points:
    where text is printed twice, many do.
    """
    squares = {(char.text, char.x0 // _DOUBLED, char.top // _DOUBLED) for char in chars}
    return len(squares) < len(chars)


def _spaces_in_text(chars: Sequence[Char]) -> set[int]:
    """Return the ids of the spaces that stand between the letters drawn just before and
    after them. The others pad a cell, often up to under the digits of the next one.
    """
    inside: set[int] = set()
    for before, space, after in zip(chars, chars[1:], chars[2:], strict=False):
        if space.text.isspace() and not (before.text.isspace() or after.text.isspace()):
            in_line = abs(before.top - space.top) < 1 and abs(after.top - space.top) < 1
            if in_line and before.x0 < space.x0 < after.x0 < before.x0 + 2 * space.size:
                inside.add(id(space))
    return inside


def _with_spread_figures(words: list[Word]) -> list[Word]:
    """Join figures whose signs are evenly spaced by letter-spacing: "0 3 / 2 5" becomes
    "03/25".
    """
    single = [
        word for word in words if len(word.text) == 1 and word.text in "0123456789.,/:"
    ]
    joined: list[Word] = []
    used: set[int] = set()
    for row in rows_of(single):
        runs = [[row[0]]]
        for before, word in pairwise(row):
            gap = word.x0 - before.x1
            first = runs[-1][:2]
            even = (
                len(first) < 2
                or abs(gap - (first[1].x0 - first[0].x1)) < _EVEN * word.size
            )
            if not even or gap > word.size:
                runs.append([])
            runs[-1].append(word)
        for run in runs:
            if _SPREAD_FIGURE.fullmatch(text := "".join(word.text for word in run)):
                joined.append(replace(run[0], text=text, x1=run[-1].x1))
                used |= {id(word) for word in run}
    return [word for word in words if id(word) not in used] + joined


def _with_spread_words(words: list[Word]) -> list[Word]:
    """Join the letters of words with wide letter-spacing: "w o r k f o rc e" becomes
    "workforce". Only a page with many single letters has such words.
    """
    single = 0
    for word in words:
        single += len(word.text) == 1 and word.text.isalpha()
    if single <= _SPREAD_SINGLE * len(words):
        return words
    joined: list[Word] = []
    for row in rows_of(words):
        for piece in pieces_of(row, _SPREAD_END):
            if _is_spread(piece):
                joined += _without_spread(piece)
            else:
                joined += piece
    return joined


def _is_spread(piece: Sequence[Word]) -> bool:
    text = "".join(word.text for word in piece)
    letters = sum(map(str.isalpha, text))
    is_short = len(text) <= _SPREAD_LETTERS * len(piece)
    return is_short and letters >= _SPREAD_LEAST and 2 * letters > len(text)


def _without_spread(piece: Sequence[Word]) -> list[Word]:
    """Join letters whose gaps are as wide as most are; wider ones separate words."""
    gaps = [word.x0 - before.x1 for before, word in pairwise(piece)]
    widest = _SPREAD_GAP * max(median(gaps), 0.0)
    words = [replace(piece[0])]
    for gap, letter in zip(gaps, piece[1:], strict=True):
        last = words[-1]
        if gap > widest:
            words.append(replace(letter))
            continue
        last.text += letter.text
        last.x1 = letter.x1
        last.top = min(last.top, letter.top)
        last.bottom = max(last.bottom, letter.bottom)
    return words


def _with_marks(chars: list[Char]) -> list[Char]:
    """Put vowel signs on their letters and reverse letters of several signs; `logical`
    reverses everything back.
    """
    marks = [char for char in chars if all(map(unicodedata.combining, char.text))]
    # A page of vowelled text has some 2,000.
    if len(marks) > 5_000:
        return chars
    marked = {id(mark) for mark in marks}
    letters = [
        replace(char, text=char.text[::-1]) for char in chars if id(char) not in marked
    ]
    for mark in marks:
        near = (
            char
            for char in letters
            if char.x0 - 1 < mark.x0 < char.x1 and not char.text.isspace()
        )
        below = [
            char for char in near if abs(char.bottom - mark.bottom) < 0.6 * char.size
        ]
        if below:
            letter = min(
                below, key=lambda char: abs(char.x0 + char.x1 - mark.x0 - mark.x1)
            )
            letter.text = mark.text + letter.text
    return letters


def rows_of(words: Iterable[Word]) -> list[list[Word]]:
    """Group words by baseline, from top to bottom, each row from left to right. A
    superscript joins its row.
    """
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.bottom, word.x0)):
        for row in rows[:-4:-1]:
            first = row[0]
            if (
                abs(word.bottom - first.bottom) <= 0.35 * first.size
                or _raised(word, first)
                or _raised(first, word)
            ):
                row.append(word)
                break
        else:
            rows.append([word])
    for row in rows:
        row.sort(key=lambda word: word.x0)
    return sorted(rows, key=lambda row: max(word.bottom for word in row))


def _raised(small: Word, word: Word) -> bool:
    return (
        small.size < 0.85 * word.size
        and word.top - 0.3 * word.size < small.y < word.bottom
    )


def text_of(row: Iterable[Word]) -> str:
    """Return the words of one baseline, given from left to right, as text in reading
    order.
    """
    return logical(" ".join(word.text for word in row))


def line_of(row: Sequence[Word]) -> Line:
    sizes: Counter[float] = Counter()
    for word in row:
        sizes[round(2 * word.size) / 2] += len(word.text)
    lettered = [word.bold for word in row if any(map(str.isalpha, word.text))]
    bold = bool(lettered) and all(lettered)
    top = min(word.top for word in row)
    bottom = max(word.bottom for word in row)
    # A size with fewer letters, as of small capitals, is not the line's.
    size = max(size for size, count in sizes.items() if count >= 0.15 * sizes.total())
    return Line(
        text_of(row), row[0].x0, max(word.x1 for word in row), top, bottom, size, bold
    )


def pieces_of(row: Sequence[Word], gap: float) -> list[list[Word]]:
    """Split a row where two words are more than ``gap`` times the font size apart."""
    pieces = [[row[0]]]
    for before, word in pairwise(row):
        if word.x0 - before.x1 > gap * min(before.size, word.size):
            pieces.append([])
        pieces[-1].append(word)
    return pieces


def page_rules(page: DrawnPage, *, joined: float) -> list[Rule]:
    """Return horizontal rules from top to bottom, joining segments at one height up to
    ``joined`` points apart.
    """
    edges = sorted(
        (edge["top"], edge["x0"], edge["x1"]) for edge in page.horizontal_edges
    )
    heights: list[tuple[float, list[Span]]] = []
    for y, x0, x1 in edges:
        if not heights or y - heights[-1][0] > 1.5:
            heights.append((y, []))
        heights[-1][1].append((x0, x1))
    return [
        Rule(x0, x1, y)
        for y, segments in heights
        for x0, x1 in merge_spans(segments, joined)
        if x1 - x0 > 20
    ]


def merge_spans(spans: Iterable[Span], gap: float) -> list[Span]:
    """Sort intervals and join those up to ``gap`` apart."""
    result: list[Span] = []
    for x0, x1 in sorted(spans):
        if result and x0 - result[-1][1] <= gap:
            result[-1] = (result[-1][0], max(x1, result[-1][1]))
        else:
            result.append((x0, x1))
    return result


_SOFT_HYPHEN = "\xad"
_CUT = re.compile(r"([^\W\d_]+)[-‐]$")
_DASHED = re.compile(r"\w[-‐–]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_SUSPENDED = re.compile(r"(?:and|or|to|und|oder|bis|et|ou|y|o|e|en|of)\b")
_ADDRESS = re.compile(r"(?://|www\.)\S*[/=&?%_-]$|//$|@$")
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_ACCENTED = re.compile(r"([A-Za-z])([ˆ¸˜´¨ˇ˘˚])")
_COMBINING = dict(
    zip("ˆ¸˜´¨ˇ˘˚", "\u0302\u0327\u0303\u0301\u0308\u030c\u0306\u030a", strict=True)
)
_LIGATURES = {
    code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)
}


def mend_word(text: str) -> str:
    """Spell out ligatures, and put accents that were printed as signs of their own on
    their letters.
    """

    def composed(match: re.Match[str]) -> str:
        letter = unicodedata.normalize("NFC", match[1] + _COMBINING[match[2]])
        if len(letter) == 1:
            return letter
        return match[0]

    return (
        text if text.isascii() else _ACCENTED.sub(composed, text.translate(_LIGATURES))
    )


def is_right_to_left(text: str) -> bool:
    """Return whether most letters are Arabic, Hebrew or of another script from right to
    left.
    """
    if text.isascii():
        return False
    directions = list(map(unicodedata.bidirectional, text))
    return sum(one in {"R", "AL"} for one in directions) > directions.count("L")


def logical(text: str) -> str:
    """Return a line in reading order, given as it stands on the page. The Unicode
    bidirectional algorithm undoes itself but for rare mixtures of numbers and signs.
    Arabic presentation forms become plain letters, which people type into a search.
    """
    if text.isascii() or not any(
        unicodedata.bidirectional(char) in {"R", "AL"} for char in text
    ):
        return text
    from bidi import get_display

    text_in_order: str = get_display(
        text, base_dir="R" if is_right_to_left(text) else "L"
    )
    return unicodedata.normalize("NFKC", text_in_order)


def compounds(lines: Iterable[str]) -> set[str]:
    """Return the words with a hyphen inside a line, in lower case: they keep it when
    split at a line end.
    """
    return {
        word.lower()
        for line in lines
        if "-" in line
        for word in _COMPOUND.findall(line)
    }


def join_lines(before: str, after: str, hyphenated: Collection[str] = ()) -> str:
    """Join two lines of a paragraph. ``hyphenated``: words written with a hyphen
    elsewhere (`compounds`).
    """
    if not before or not after:
        return before or after
    if before.endswith(_SOFT_HYPHEN):
        return before.rstrip(_SOFT_HYPHEN) + after
    cut = _CUT.search(before)
    rest = _FIRST_WORD.match(after)
    if cut and rest and rest[0][0].islower():
        if _SUSPENDED.match(after):
            return f"{before} {after}"
        whole = f"{cut[1]}-{rest[0]}".lower()
        return (before if whole in hyphenated else before[:-1]) + after
    if (_DASHED.search(before) and after[0].isalnum()) or _ADDRESS.search(before):
        return before + after
    return f"{before} {after}"

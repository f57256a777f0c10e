"""The wording of an answer: its citations and quotations, and words as they are
compared.

`claims.toml` has the words of the citation check: patterns, lists of words, units.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial

import Stemmer

from ..domain import Context
from ..language.characters import visible
from ..language.rules import RuleWords

_RULES = RuleWords(__package__, "claims.toml")
pattern, word_list = partial(_RULES.pattern, any_case=False), _RULES.words
UNITS: dict[str, dict[str, Decimal]] = {
    measure: {spelling: Decimal(size) for spelling, size in spellings.items()}
    for measure, spellings in _RULES.tables["units"].items()
}
LABELS: dict[str, str] = _RULES.tables["labels"]
FRACTIONS: dict[str, Decimal] = _RULES.tables["fractions"]
BOUNDS: dict[str, Decimal] = _RULES.tables["proof"]
LIMITS: dict[str, int] = _RULES.tables["limits"]
_STEM = Stemmer.Stemmer("english").stemWord
_STRAIGHT = r"\"([^\"\n]{3,})\""
_SINGLE = r"['‘](?<![\w'’].)((?:[^'‘’\n]|(?<=\w)['’](?=\w)){3,}?)['’](?!\w)"
QUOTATION = re.compile(
    rf"“([^“”\n]{{3,}})”|„([^„“”\n]{{3,}})[“”]|«([^«»\n]{{3,}})»|‹([^‹›\n"
    rf"]{{3,}})›|「([^「」\n]{{2,}})」"
    rf"|『([^『』\n]{{2,}})』|{_STRAIGHT}|{_SINGLE}"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"(?<!\\)(?:[*`]+|~{2,}|(?<!\w)_+|(?<!_)_+(?!\w)|(?<=\\_)_+(?!\w))")
_MARK = re.compile(r"[*`~_\\]")
"""Most texts have none, and looking is cheaper than replacing."""
_QUOTES = dict.fromkeys(map(ord, "\"“”„‟«»‹›「」『』'‘’‚‛ʼ′`"), "'")
_DASH = re.compile(" ?[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+ ?")
_GAP = re.compile(r"\[?\s?(?:\.\s?\.\s?\.|…)\s?\]?|\s·\s")
_INSERTION = re.compile(rf"{_GAP.pattern}|\[[^\[\]]*\]")
"""Words in brackets that complete a quoted sentence."""
_INSERTED = re.compile(r"\[(\w)\](?=\w)")
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Scripts without spaces between words."""
_OPEN_START, _OPEN_END = (
    re.compile(rf"[{_UNSPACED}\W]"),
    re.compile(rf"[{_UNSPACED}\W]$"),
)
"""First and last signs of a quotation that need no word boundary."""
_MAY_BEGIN, _MAY_END = (
    re.compile(r"(?<!\w)(?<!\d[.,])"),
    re.compile(r"(?!\w)(?![.,]\d)"),
)
GROUP = r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_WITH_SPACE = re.compile(rf"(?:(?<![ \t])[ \t]+)?{NUMBERS.pattern}")
_STYLES = re.compile(
    r"[【〔［]\s?(?:\w+ )?\d{1,3}(?:\s*[-–,;]\s*\d{1,3})*(?:†[^】]{0,40})?\s?[】〕］]"
    r"|\[(?![1-9]\d{0,2}\])\^?(?:(?:passages?|sources?|refs?\.?|citations?|quellen?|fuentes?)[: "  # noqa: E501
    r"]\s*)?\d{1,3}"
    r"(?:\s*(?:[-–,;&]|and)\s*(?:(?:passage|source) )?\d{1,3})*\]"
    r"|\((?:passages?|sources?|refs?\.?|citations?|quellen?|fuentes?)[: "
    r"]\s*\d{1,3}(?:\s*(?:[-–,;&]|and)\s*\d{1,3})*\)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,3})(?:\s*[-–]\s*(\d{1,3}))?")
_NO_UNIT = r"(?<!\bm)(?<!\b[kcm]m)(?<!\bmi)(?<!\bft)"
_BARE_STYLES = re.compile(
    rf"(?:(?<=[^\W\d]|[.,;:!?%)\"”’])|(?<=\b(?:19|20)\d\d)){_NO_UNIT}([¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})(?![\w⁰])"
    rf"|(?<=[\w%.)\"”’])(?:[ \t]?\((\d{{1,2}}(?:,[ "
    rf"\t]?\d{{1,2}}){{0,5}})\)|{_NO_UNIT}\^(\d{{1,2}})\^?)"
    r"(?=[.,;:!?]|[ \t]*(?:$|\(\d))",
    re.MULTILINE,
)
_WHOLE_FENCE = re.compile(
    r"```(?P<language>markdown|md|json)?[ \t]*\n(?P<inside>.*)\n```",
    re.DOTALL | re.IGNORECASE,
)
_ANSWER_KEYS = ("answer", "response", "text", "content")


def stems(name: str) -> frozenset[str]:
    """Return the stems of a list of words. Raises KeyError."""
    return frozenset(map(stem, word_list(name)))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word, without apostrophes and accents: "Kenya's" is "kenya",
    "Goïta" is "goita".
    """
    bare = re.sub(r"['’]s?$", "", word.lower())
    bare = (
        bare
        if bare.isascii()
        else "".join(filter(str.isalnum, unicodedata.normalize("NFKD", bare)))
    )
    return str(_STEM(re.sub("['’]", "", bare)))


def cited_numbers(response: str) -> list[int]:
    """Return the numbers in square brackets, in order of first appearance."""
    return list(
        dict.fromkeys(
            int(number)
            for group in NUMBERS.findall(response)
            for number in group.split(",")
        )
    )


def without_numbers(text: str) -> str:
    """Return the text without its citations ("[1]")."""
    if "[" in text:
        return _WITH_SPACE.sub("", text)
    return text


def unify_brackets(response: str, passage_numbers: Collection[int]) -> str:
    """Rewrite the citation styles of models as [1] or [1, 2]: 【1】, [Passage 1], [1-3],
    (Source: 1). ¹, ^1, (1) and (1, 2) count only where nothing is cited otherwise, and
    only for ``passage_numbers``. The answer loses a code fence around all of it, or is
    read from JSON.
    """  # noqa: E501

    def of_bare(match: re.Match[str]) -> str:
        numbers = [
            int(number) for number in (match[2] or match[3] or "").split(",") if number
        ]
        numbers = numbers or [
            int(digit) for digit in unicodedata.normalize("NFKC", match[1])
        ]
        if set(numbers) <= set(passage_numbers):
            return f" {numbers}"
        return match[0]

    text = _STYLES.sub(_in_brackets, _unwrapped(response))
    if NUMBERS.search(text):
        return text
    return _BARE_STYLES.sub(of_bare, text)


def _in_brackets(match: re.Match[str]) -> str:
    numbers = list[int]()
    for first, last in _SPAN.findall(match[0].partition("†")[0]):
        end = int(last or first)
        numbers += (
            range(int(first), end + 1)
            if 0 <= end - int(first) < 10
            else [int(first), end]
        )
    return f"[{', '.join(map(str, numbers))}]"


def _unwrapped(response: str) -> str:
    """Return an answer without the code fence around all of it, or out of {"answer":
    "..."}.
    """
    fence = _WHOLE_FENCE.fullmatch(response.strip())
    text = response
    if (
        fence
        and "```" not in fence["inside"]
        and (fence["language"] or NUMBERS.search(fence["inside"]))
    ):
        text = fence["inside"].strip()
    if not text.lstrip().startswith("{"):
        return text
    with suppress(
        ValueError, RecursionError
    ):  # else it is no JSON, and an answer as it stands
        fields = json.loads(text)
        return next(
            (
                value
                for name in _ANSWER_KEYS
                if isinstance(value := fields.get(name), str)
            ),
            response,
        )
    return response


def in_order_of_appearance(
    response: str, context: Context, shown: Sequence[int] = ()
) -> tuple[str, Context]:
    """Return a text with its citations numbered from 1 by appearance, and the context
    with all of its passages numbered alike: cited ones first, then the others.

    ``shown``: the former numbers that a stream has shown already, in their order
    (`NumberedStream.order`). A citation of no passage is moved behind the passages'
    numbers, so that it does not seem to cite one.
    """
    passages = {passage.number: passage for passage in context.passages}
    response, order = renumber(response, passages, shown)
    renamed = tuple(
        replace(passages[number], number=place)
        for place, number in enumerate(order, start=1)
    )
    return response, replace(context, passages=renamed)


def renumber(
    response: str, known: Collection[int], shown: Sequence[int] = ()
) -> tuple[str, list[int]]:
    """Return a text with its citations numbered from 1 by appearance, and the ``known``
    numbers of before in their new order: cited ones first. ``shown`` and numbers that
    are not known: see `in_order_of_appearance`.
    """
    cited = [
        number
        for number in dict.fromkeys([*shown, *cited_numbers(response)])
        if number in known
    ]
    order = [*cited, *(number for number in known if number not in cited)]
    new = {number: place for place, number in enumerate(order, start=1)}
    missing = {
        number: number + len(order)
        for number in cited_numbers(response)
        if 0 < number <= len(order)
    }
    return _renumbered(response, {**missing, **new}), order


class NumberedStream:
    """`in_order_of_appearance` for a text that arrives in pieces.

    ``known``: the passages' numbers; ``order``: those that were cited so far."""

    def __init__(self) -> None:
        self.known: Collection[int] = ()
        self.order: list[int] = []
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown after this piece: all but an open bracket, which may
        become a citation.
        """
        text = _STYLES.sub(_in_brackets, self._held + piece)
        start = text.rfind("[")
        # A longer bracket becomes no citation.
        is_open = start >= 0 and "]" not in text[start:] and len(text) - start < 40
        self._held = text[start:] if is_open else ""
        text = text[:start] if is_open else text
        self.order += [
            n for n in cited_numbers(text) if n in self.known and n not in self.order
        ]
        return _renumbered(
            text, {number: place for place, number in enumerate(self.order, start=1)}
        )

    def rest(self) -> str:
        """Return what was held back and became no citation."""
        rest = self._held
        self._held = ""
        return rest


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    def new(number: re.Match[str]) -> str:
        return str(numbers.get(int(number[0]), number[0]))

    return NUMBERS.sub(lambda group: re.sub(r"\d+", new, group[0]), text)


def strip_marks(text: str) -> str:
    """Return the text without Markdown's marks and escapes."""
    if _MARK.search(text):
        return _ESCAPE.sub(r"\1", _MARKS.sub("", text))
    return text


def normalise(text: str) -> str:
    """Return a text for comparing words: no case, quotes or invisible characters, one
    kind of dash and of space.
    """
    text = unicodedata.normalize("NFKC", visible(text)).casefold().translate(_QUOTES)
    text = re.sub(r"'+(?!\w)|(?<!\w)'+", "", text)
    text = re.sub(r"[, ](?<=\d[, ])(?=\d{3}(?!\d))", "", text)
    text = _DASH.sub(
        "-", " ".join((_MARKS.sub("", text) if _MARK.search(text) else text).split())
    )
    return re.sub(r" (?=[,.;:!?%)\]])", "", text)


def quotations(sentence: str) -> list[str]:
    """Return the texts between quotation marks of any kind."""
    return [
        next(filter(None, groups)).strip() for groups in QUOTATION.findall(sentence)
    ]


def without_quotations(text: str) -> str:
    """Return the text with spaces for its quotations: the rest keeps its positions."""
    return QUOTATION.sub(lambda quote: " " * len(quote[0]), text)


def is_quoted(quotation: str, words: str) -> bool:
    """Whether ``words`` (normalised) has the quotation: whole words, its pieces in
    order where "…" omits something.
    """
    without_insertions = _INSERTION.split(_INSERTED.sub(r"\1", quotation))
    return _in_order(_GAP.split(quotation), words) or _in_order(
        without_insertions, words
    )


def _in_order(pieces: list[str], words: str) -> bool:
    place = 0
    for piece in filter(None, (normalise(piece).strip(" .,;:!?-") for piece in pieces)):
        is_open = _OPEN_START.match(piece)
        ends_open = _OPEN_END.search(piece)
        while (start := words.find(piece, place)) >= 0:
            end = start + len(piece)
            if (is_open or _MAY_BEGIN.match(words, start)) and (
                ends_open or _MAY_END.match(words, end)
            ):
                place = end
                break
            place = start + 1  # within a longer word or number
        else:
            return False
    return True

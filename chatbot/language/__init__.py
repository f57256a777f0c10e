"""Words, sentences, invisible characters and Markdown escapes, for the search, the
answers and the citation check.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import Stemmer

from ..domain.errors import SettingsError, read_table

if TYPE_CHECKING:
    from ..domain import Quotation
    from .words import Say

WORD_PATTERN = re.compile(r"\w+")
LETTERS_PATTERN = re.compile(r"[^\W\d_]+")
YEAR_PATTERN = re.compile(r"\b(?:19|20)\d\d(?![^\W⁰¹²³⁴-⁹])")
_TERM = re.compile(r"\w+(?:[.,]\d+)*")
"""A word, or a number with its decimals."""
_COMPOUND = re.compile(r"\b\w*?(?:[a-z0-9][A-Z]|_)\w*")
_SEAM_HINT = re.compile(r"[a-z0-9][A-Z]|_")
_SEAM = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(
    r"(?<=[.!?。！？؟])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÞЀ-Яء-ي])|\n+"
)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|est|approx|incl|No|Gen|Lt|Col|Maj|Capt|Gov|Sen|Rep|Fig|Vol|ca|pp?|e\.g|i\.e"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z]|\([a-z])\.$"
)
PROSE_SENTENCE = re.compile(r"[A-Z][^.:;]{40,}[^.]*[.]")
"""A sentence, which is no label with its value."""
_GAP = re.compile(r"\s{2,}")
_MARKDOWN_SIGN = re.compile(r"[\\`*_\[\]<>|#]")
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point of Unicode 16, DerivedCoreProperties.txt; the tag
characters are among them.
"""
_CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff\U00013430-\U0001343f"  # noqa: E501
"""Control characters, noncharacters, annotations of lines (UAX #44: general categories
Cc, Cn and Cf).
"""
_JOINING_SCRIPTS = "[\u0600-\u109f\u1780-\u18af]"
"""From Arabic to Myanmar, Khmer and Mongolian, a joiner between two letters is part of
the spelling (UAX #31, 2.3).
"""
_INVISIBLE = re.compile(
    f"(?!(?<={_JOINING_SCRIPTS})[\u200c\u200d]{_JOINING_SCRIPTS})[{_IGNORABLE}{_CONTROLS}]+?"
)
_MAYBE_INVISIBLE = re.compile(f"[{_IGNORABLE}{_CONTROLS}]")
"""A quick first look, which takes a third of the time."""
_BLANK = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2800]")
KEPT_SHORT_TEXTS, MAX_SHORT_CHARACTERS = 16_384, 100
"""Words, headings and phrases recur in questions: their terms are kept, some 5 MB."""
MAX_ABBREVIATION_CHARACTERS = 12
"""Searching the whole sentence for one would take minutes on a page of initials."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in read_table(__package__, "stop_words").items()
}
_SIGNS = {
    language: words if language == "english" else words - STOP_WORDS["english"]
    for language, words in STOP_WORDS.items()
}
"""Stop words of each language that are none of English."""
_TURKISH_CAPITALS = {ord("İ"): "i", ord("I"): "ı"}
"""Python's lower() splits "İ" into an i and a separate dot, which would end the
word.
"""
_SPELLINGS = {
    "spanish": re.compile(
        r"[¿¡]|(?<=¿).|\b[a-zéñ]+[ñáíóú]|\b[a-z]*ci[oó]n\b|\b[Cc]u[aá]nt[oa]s?\b"
    ),
    "french": re.compile(
        r"[«»]|\s(?=[?!:])|\b[a-zé]*[çàèêâîôûùœ]|(?<=\b[dlnsjcm])['’](?=[a-zéèêàh])|\bqu['’]|-t-"
        r"|\b(?:[Qq]uel(?:le)?|[Cc]ombien)\b"
    ),
    "german": re.compile(r"\b[a-z]*[äöüß]"),
    "portuguese": re.compile(
        r"\b[a-zç]*[ãõ]|(?<=[a-zç][ãõ])[eo]s?\b|\b[a-z]*(?:ç[ao]|[áâêíóôú])|\b(?:[Qq]uais|[Qq]uant[ao]s|[Oo]nde)\b"
    ),
}
"""Signs of a language besides its stop words; a word with a capital may be a name."""
CLEAR = 5
"""Different stop words of a language that show it, where no other has half as many."""
_LATIN, _NOT_LATIN = (
    re.compile("[a-zA-Z\u00c0-\u024f]"),
    re.compile(r"[^\W\d_a-zA-Z\u00c0-\u024f]+"),
)
_ARABIC = re.compile("[ةىيك]")
"""Letters that Persian and Urdu, in the same script, write in other ways."""
LANGUAGES = sorted(STOP_WORDS)
"""Languages with both a Snowball stemmer and a stop-word list."""


def lowered(text: str) -> str:
    """Return a text of the same length in lower case: to search it takes a third of the
    time of `re.IGNORECASE`.
    """
    lower = text.lower()
    return (
        lower
        if len(lower) == len(text)
        else "".join(s if len(s.lower()) > 1 else s.lower() for s in text)
    )


class Analyzer:
    """Turns text into index terms: lower-case words without stop words, stemmed by
    language (Snowball).
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise SettingsError(
                f"LANGUAGE={language!r} is not supported. Valid: "
                f"{', '.join(LANGUAGES)}."
            )
        self._stem = Stemmer.Stemmer(language).stemWords
        self._stop_words = STOP_WORDS[language]
        self._letters = {
            ord(sign): " " for sign in "⁰¹²³⁴⁵⁶⁷⁸⁹"
        }  # marks of notes: "Collections¹"
        self._letters |= _TURKISH_CAPITALS if language == "turkish" else {}
        self._terms_of_short = lru_cache(KEPT_SHORT_TEXTS)(self._terms_of)

    def terms(self, text: str) -> list[str]:
        """Return the index terms in text order. A number keeps its decimals: 2.09 is
        one term. A compound such as maxRetries or max_retries gives itself and its
        parts, like Lucene's WordDelimiterGraph with the original preserved (measured on
        questions about code: benchmarks/README.md).
        """
        return list(
            self._terms_of_short(text)
            if len(text) <= MAX_SHORT_CHARACTERS
            else self._terms_of(text)
        )

    def _terms_of(self, text: str) -> Sequence[str]:
        if _SEAM_HINT.search(
            text
        ):  # most texts have none, and looking is cheaper than replacing
            text = _COMPOUND.sub(
                lambda compound: f"{compound[0]} {_SEAM.sub(' ', compound[0])}", text
            )
        # An accent that is a character of its own (NFD, in some PDFs) would end a word.
        text = unicodedata.normalize("NFC", text).translate(self._letters).lower()
        words = [word for word in _TERM.findall(text) if word not in self._stop_words]
        stems: Sequence[str] = self._stem(words)
        return stems


@lru_cache(maxsize=8)
def analyzer(language: str) -> Analyzer:
    """Return the analyzer of a language, made once. Raises SettingsError for a language
    that is not supported.
    """
    return Analyzer(language)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines, stripped, in order. Abbreviations and initials do
    not end a sentence.
    """
    result: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        near = max(start, match.start() - MAX_ABBREVIATION_CHARACTERS)
        if "\n" in match.group() or not _ABBREVIATION.search(text, near, match.start()):
            if text[start : match.start()].strip():
                result.append(text[start : match.end()].strip())
            start = match.end()
    tail = text[start:].strip()
    return [*result, tail] if tail else result


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for any model, rather too high than too low, and
    never below its words. Tokenizers merge letters into words, digits by threes and
    signs hardly ever; a letter beyond ASCII costs by its bytes (measured against
    MiniLM's, cl100k's and o200k's tokens, benchmarks/README.md).
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    beyond = len(text.encode("utf-8", "surrogatepass")) - ascii_only
    digits = sum(map(text.count, "0123456789"))
    signs = len(_PUNCTUATION.findall(text))
    parts = 22 * (ascii_only - digits - signs) + 50 * digits + 85 * signs + 42 * beyond
    return max(parts // 100, text.count(" ")) + 1


@lru_cache(maxsize=256)
def language_of(
    text: str, otherwise: str = "english", preferred: str = "spanish"
) -> str:
    """Return the one of `LANGUAGES` that a text is written in; "arabic", or "" for one
    in another script. Signs are stop words, and spellings that English has in names
    only. ``otherwise``: where the signs are too few; ``preferred``: among those with as
    many signs.
    """
    words = set(_TERM.findall(text.lower()))
    signs = {
        language: len(words & stop_words) for language, stop_words in _SIGNS.items()
    }
    # Spellings decide where stop words leave a doubt: looking for them takes four
    # fifths of the time.
    if 2 * sorted(signs.values())[-2] >= signs[otherwise] or signs[otherwise] < CLEAR:
        for language, pattern in _SPELLINGS.items():
            signs[language] += len(set(pattern.findall(text)))
    best = max(
        LANGUAGES,
        key=lambda language: (
            signs[language],
            language == preferred,
            language == "spanish",
        ),
    )
    if signs[best] > max(1, signs[otherwise]):
        return best
    letters = (
        0
        if text.isascii() or otherwise == "russian"
        else sum(map(len, _NOT_LATIN.findall(text)))
    )
    if (
        letters == 0 or len(_LATIN.findall(text)) >= letters
    ):  # "GDP" in an Arabic question is Latin too
        return otherwise
    return "arabic" if _ARABIC.search(text) else ""


def analyzer_for(text: str, otherwise: str) -> Analyzer:
    """Return the analyzer of a text's language; that of ``otherwise`` where it is not
    known.
    """
    language = language_of(text, otherwise)
    return analyzer(language if language in LANGUAGES else otherwise)


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English. The rules for names
    and clauses are English: of the two countries in "Kenia und Somalia" they find one.
    """
    return language_of(text) != "english"


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 report", "2 searches", "1,200 countries"."""
    if count != 1:
        is_changed = noun.endswith("y") and noun[-2] not in "aeiou"  # but "keys"
        noun = (
            f"{noun[:-1]}ies"
            if is_changed
            else f"{noun}es"
            if noun.endswith("ch")
            else f"{noun}s"
        )
    return f"{count:,} {noun}"


def quotation_markdown(quotation: "Quotation") -> str:
    """Return a quotation with its citation as Markdown."""
    return f"“{escape_markdown(quotation.text)}” [{quotation.number}]"


def quotation_item(quotation: "Quotation", say: "Say") -> str:
    """Return a quotation and its source as an item of a Markdown list; ``say`` marks a
    general one.
    """
    source = (
        say("General: {source}", source=quotation.where)
        if quotation.general
        else quotation.where
    )
    return f"- **{escape_markdown(source)}:** {quotation_markdown(quotation)}"


def evenly_spaced(text: str) -> str:
    """Replace each run of white space by one space, or by the end of a line or
    paragraph if it has one. Apply it to what people type before the rules read it: on a
    run of 1,600 spaces, one of their regular expressions took 50 s and blocked every
    thread.
    """
    return _GAP.sub(lambda gap: "\n\n"[: gap[0].count("\n")] or " ", text)


def escape_markdown(text: str) -> str:
    """Return a text on one line that Markdown shows unchanged, so that a document
    cannot add Markdown to a page.
    """
    return _MARKDOWN_SIGN.sub(r"\\\g<0>", " ".join(text.split()))


def visible(text: str) -> str:
    """Remove invisible characters, which a model would read, and replace blanks that
    are no white space by spaces.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _BLANK.sub(
        " ", _INVISIBLE.sub("", text) if _MAYBE_INVISIBLE.search(text) else text
    )

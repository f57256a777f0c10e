"""Clean texts character by character: invisible ones, runs of white space, capitals."""

import re
import unicodedata

_GAP = re.compile(r"\s{2,}")
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


_FORM = re.compile(
    "[\ufb00-\ufdff\ufe70-\ufefc\uff01-\uff60\uffe0-\uffe6]|(?![0-9])\\d"
)
"""A ligature or another form of presentation, a sign of full width, or a digit of
another script.
"""


def folded(text: str) -> str:
    """Return a text as people type it into a search: ligatures and signs of full width
    as plain letters, digits of other scripts as 0 to 9. Raised and lowered figures
    stay: they are marks of notes and units.
    """
    if text.isascii():
        return text
    return _FORM.sub(_typed, text)


def _typed(form: re.Match[str]) -> str:
    digit = unicodedata.decimal(form[0], None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", form[0])


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


def evenly_spaced(text: str) -> str:
    """Replace each run of white space by one space, or by the end of a line or
    paragraph if it has one. Apply it to what people type before the rules read it: on a
    run of 1,600 spaces, one of their regular expressions took 50 s and blocked every
    thread.
    """
    return _GAP.sub(lambda gap: "\n\n"[: gap[0].count("\n")] or " ", text)


def visible(text: str) -> str:
    """Remove invisible characters, which a model would read, and replace blanks that
    are no white space by spaces.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _BLANK.sub(
        " ", _INVISIBLE.sub("", text) if _MAYBE_INVISIBLE.search(text) else text
    )

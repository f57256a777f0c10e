"""A question without the words that only compare.

Names are held by a mark each while the words around them change. The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text import analyzer
from .figures import MORE_OR_LESS
from .names import Named
from .years import EDITION, NamedYears

NAME, PEOPLE, YEARS = "\ue000", "\ue001", "\ue002"
"""Marks for a country by name, by what belongs to it, and for years: private characters, in no question."""
_ANY = f"[{NAME}{PEOPLE}{YEARS}]"
_DROPPED = str.maketrans(dict.fromkeys((NAME, PEOPLE, YEARS), " "))
_I = re.IGNORECASE
_JOIN = (
    r"(?:['’]s)?\s*(?:[,;/&+]|\b(?:and|or|vs\.?|versus|with|to|as well as|compared (?:with|to)|against)(?!\w))"
    r"(?:[\s,/&+]|\b(?:and|or|in|of|for|the|both|that of|those of)\b)*"
)
_ARTICLE = re.compile(rf"\bthe\s+(?={NAME})", _I)
_LISTS = (
    re.compile(rf"(?:\b(?:both|either)\s+)?[{NAME}{PEOPLE}](?:{_JOIN}([{NAME}{PEOPLE}]))+"),
    re.compile(rf"(?:\b(?:both|either)\s+)?{YEARS}(?:{_JOIN}({YEARS}))+"),
)
_WHO = rf"([{NAME}{YEARS}](?:['’]s)?(?:,?\s+(?:(?:in|for|of)\s+)?[{NAME}{YEARS}])?)"
"""The names of a comparison: countries, years, or countries in years."""
_IN = (
    r"(?:in terms of|according to|with (?:regard|respect) to|when it comes to|regarding|concerning|as to|based on"
    r"|(?:on|by|in|for)(?: their)?)"
)
_EACH_OTHER = r"(?:\s+(?:from|with|to)\s+(?:each other|one another))?"
_ASKED = (
    r"(?:(?:what|which|how (?:big|large|great|wide))(?:\s+(?:is|are|was|were)|['’]s)\s+|(?:is|are|was|were) there\s+"
    r"|explain\s+|describe\s+|discuss\s+|show\s+(?:me\s+)?|give\s+(?:me\s+)?|tell me\s+(?:about\s+)?)?"
)
_DIFFERENCE = (
    r"(?:the\s+|any\s+|an?\s+)?(?:(?:main|key|biggest|major|most important)\s+)?(?:differences?|gap|similarit\w+)"
)
_POLITE = re.compile(
    r"^\W*(?:(?:please|(?:can|could|would) you(?: please)?|i(?: want| would like|['’]d like)(?: you)? to)\s+)+"
    r"(?=(?:compare|contrast|explain|describe|show|tell|give)\b)",
    _I,
)
_MORE = r"(?:higher|lower|greater|larger|smaller|bigger|highest|lowest|largest|smallest|biggest)"
_COMPARE = r"(?:compare(?: and contrast)?|contrast|rank|(?:a )?(?:comparison|ranking) (?:of|between))"
_ABOUT_NAMES = (
    re.compile(rf"^\W*{_COMPARE}\s+{_WHO}\s*[,:]?\s*", _I),
    re.compile(rf"^\W*{_ASKED}{_DIFFERENCE}\s+(?:between|among)\s+{_WHO}\s*,?\s*", _I),
    re.compile(
        rf"^\W*how\s+(?:do|does|did|are|is|were|was)\s+{_WHO}\s+(?:differ(?:ent)?|compare|rank|vary)"
        rf"(?:\s+(?:from|with|to)\s+{_ANY}|{_EACH_OTHER})\s*,?\s*",
        _I,
    ),
    re.compile(
        rf"^\W*(?:does|do|did)\s+{_WHO}\s+have\s+(?:more|fewer|less|(?:(?:an?|the)\s+)?{_MORE})\s+(?!than\b)", _I
    ),
)
"""Ways to begin after which only the thing compared is left; the names go behind it."""
_OWNS = re.compile(r"['’]s$")
_FIRST_IN = re.compile(rf"^{_IN}\s+", _I)
_WHICH = re.compile(
    rf"^(?:(?P<who>{_WHO})\s*[,:]\s*)?[^\w{NAME}]*(?:which|who)\b(?:\s+(?:one|country|of\s+(?:the|these|those)\s+\w+))?"
    rf"(?:(?:\s*,)?\s+(?:of\s+)?(?P<of>{_WHO})(?:\s*,)?)?\s+(?:(?:is|are|was|were)\s+(?:the\s+)?{_MORE}"
    rf"|(?:has|have|had)\s+(?:(?:the|an?)\s+)?(?:{_MORE}|more|fewer|less|most|fewest|least))\b(?!\s+than\b)",
    _I,
)
"""A question for the one that has more of a thing: both are asked for the thing."""
_IN_BRACKETS = re.compile(rf"^([^?({NAME}{PEOPLE}{YEARS}]*)\??\s*\(([^()]+)\)$")
"""What a follow-up carries on, which is all there is to search for behind "Which is higher?" and the like."""
_ANY_MORE = re.compile(rf"\b{MORE_OR_LESS}\b", _I)
_AND_WHY = re.compile(r"(?:\s*,)?\s+and\s+(?:why|by\s+how\s+much)\W*$", _I)
_SIZE = re.compile(r"\b(?:larg|small|big)\w+$", _I)
_OF_WHICH = re.compile(rf"(?:\s*[,:]\s*(?:(?:in|of)\s+)?|\s+(?:in|between|among)\s+|\s*\?\s*\()(?P<who>{_WHO})\)?", _I)
_OTHER = r"\s+(?:(?:in|of|for|that|those|the|one|ones|figures?)\s+)*"
_HOW = re.compile(
    rf"^\W*how\s+(?:do|does|did)\s+(.*?)\s*\b(?:differ|compare|vary|(?:change|develop|evolve)(?=\s.*{YEARS}))\b{_EACH_OTHER}"
    rf"(?:\s+(?:from|with|to){_OTHER}{_ANY}(?:['’]s)?(?:\s+ones?\b)?)?",
    _I,
)
_REMOVED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"^\W*{_COMPARE}\s+(?:(?:it|this|that|them|these|those)\s+(?=(?:with|to|against)\b))?", _I), ""),
    (re.compile(rf"^\W*(?:which|who)\s+of\s+(?={_ANY})", _I), ""),
    (re.compile(rf"^\W*{_ASKED}{_DIFFERENCE}\s+(?:between|among|in|of|as to|regarding)\s+", _I), ""),
    (
        re.compile(
            r",?\s*\band\s+(?:then\s+)?(?:explain|describe|discuss|say|tell me|show)\s+(?:(?:why|what|is|are|the"
            r"|causes?|any|their|main|for|reasons?|behind)\s+)*(?:differences?|gap|they differ)\b",
            _I,
        ),
        "",
    ),
    (
        re.compile(
            rf"\s*,?\s*\b(?:compar(?:ed|e|es|ison)|relative|as opposed)\s+(?:to|with|against){_OTHER}{_ANY}"
            r"(?:['’]s)?",
            _I,
        ),
        "",
    ),
    (re.compile(rf"\s*\bthan{_OTHER}{_ANY}(?:['’]s)?", _I), ""),
    (re.compile(rf"^\W*(?:is|are|was|were)\s+(.+?)\s+{_MORE}(?=\s+in\b|\W*$)", _I), r"\1 "),
    (
        re.compile(
            r"\b(?:the\s+)?(?:higher|lower|greater|highest|lowest|fewer)\b"
            r"(?!\s+(?:education|secondary|schools?|courts?|house|chamber|incomes?))",
            _I,
        ),
        "",
    ),
    (re.compile(rf"\b(?:between|among|across)\s+(?=[{NAME}{YEARS}])", _I), "in "),
)
_BARE = re.compile(
    r"(?:\b(?:in|of|for|between|among|across|from|about|on|at|within|to|with|by|and|both|either|than|versus|the)\s+)*"
    rf"(?:{NAME}(?:['’]s)?|{YEARS}(?:['’]s)?(?:\s+{EDITION}\b)?)",
    _I,
)
_REPORT = re.compile(r"^\W*(?:country\s+)?(?:reports?|editions?|reviews?)\s*:\s*", _I)
_EDGES = re.compile(r"^(?:[\s,;:.?!/–—-]|\b(?:and|or|but)\s)+|(?:[\s,;:/–—-]|\s(?:and|or)\b)+(?=[?.!]*\s*$)", _I)


def unmarked(text: str) -> str:
    """A person's text as the rules expect it: with single spaces, and without the characters that are marks here."""
    return " ".join(text.translate(_DROPPED).split())


def marked(text: str, names: Sequence[Named]) -> str:
    """An `unmarked` text with a mark for each name, and one for names that only follow each other."""
    pieces, done = [], 0
    for name in sorted(names, key=lambda name: name.start):
        pieces += [text[done : name.start], _mark(name)]
        done = name.end
    held = _ARTICLE.sub("", "".join([*pieces, text[done:]]))
    for several in _LISTS:
        held = several.sub(lambda match: match[1], held)
    return held


def plain(held: str) -> str:
    """A marked question without the words that only compare: "Compare the area of X and Y" asks for the area."""
    held = _thing_of_which(_POLITE.sub("", held))
    for pattern in _ABOUT_NAMES:
        if match := pattern.match(held):
            rest = _FIRST_IN.sub("", held[match.end() :]).rstrip(" ?.!")
            held = f"{rest} in {_OWNS.sub('', match[1])}" if rest else match[1]
            break
    else:
        if match := _HOW.match(held):
            held = f"{match[1]} {held[match.end() :]}"
    for pattern, instead in _REMOVED:
        held = pattern.sub(instead, held)
    held = tidy(held)
    carried = _IN_BRACKETS.match(held)
    return carried[2] if carried and not _stands_alone(carried[1]) else held


def bare(held: str) -> str:
    """Without its marks and the words that only lead to them."""
    return tidy(_REPORT.sub("", _BARE.sub(" ", held).replace(PEOPLE, " ")))


def tidy(text: str) -> str:
    """Single spaces, no sign or "and" left over at either end."""
    text = re.sub(r"\([\s,]*\)", " ", re.sub(r"\s+", " ", text))
    return _EDGES.sub("", re.sub(r"(?<=\()\s+|\s+(?=[?.!,;:)])", "", text)).strip()


def says_nothing(held: str) -> bool:
    """Whether a plain question has words beside its marks, but none that stands alone: "Why is X poorer?"."""
    left = bare(held)
    return any(map(str.isalnum, left)) and not _stands_alone(left)


def _stands_alone(text: str) -> bool:
    return bool(analyzer("english").terms(_ANY_MORE.sub("", text)))


def _thing_of_which(held: str) -> str:
    """The area, for "Which is larger in area, X or Y?"; as it is where it does not say of what."""
    if (match := _WHICH.match(held)) is None:
        return held
    rest, who = _AND_WHY.sub("", held[match.end() :]), match["who"] or match["of"]
    if who is None and (found := _OF_WHICH.search(rest)):
        rest, who = f"{rest[: found.start()].strip(' ,')} {rest[found.end() :].strip(' ,')}", found["who"]
    thing = _FIRST_IN.sub("", rest.strip(" ,?.!"))
    if not re.search(r"[^\W\d]", _BARE.sub("", thing)):
        thing = f"size {thing}".strip() if _SIZE.search(match[0]) else ""
    return f"{thing} in {_OWNS.sub('', who)}" if who and thing else held


def _mark(name: Named) -> str:
    if isinstance(name, NamedYears):
        return YEARS
    return PEOPLE if name.by_people else NAME

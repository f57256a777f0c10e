"""What a question compares: the names, and what is asked of each without the words that only compare.

`reading` takes the other end of a comparison ("than in Mali") for named in passing, because an answer without it is
one; a comparison needs both. Names are held by a mark each while the words around them change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..domain.reading import Named, NamedCountry, NamedYears, Reading
from ..language import analyzer
from .english import IMPLIED, NAME, PEOPLE, YEARS, pattern, words
from .names import find_years
from .wording import tidy

LONGEST_LEAD = 200
"""Characters before a name that say whether it is compared."""
COMPARES = pattern("{compares}")
"""Words of a comparison, whatever is compared."""
MAY_COMPARE = pattern("{may_compare}")
"""Only between countries or years."""
OF_A_CHAPTER = words("of_a_chapter") | words("comparison_words")
"""Words beside the name of a chapter that ask for nothing else: "what changed in the economic situation"."""
N = TypeVar("N", NamedCountry, NamedYears)
_OTHER_END = pattern(
    r"\b(?:than|{compared_to}|differ\w*\s+from|versus|vs\.?){other_end}$"
    r"|\b(?:differences?|differ|gap|comparison)\b[^.?!]*\b(?:between|among)\s+(?:the\s+)?$"
)
"""What stands before the name at the other end of a comparison."""
_RELATED = pattern(r"(?<!compare )\b(?:from|to|with|by|against|into|towards?)\s+(?:the\s+)?$")
"""What makes a name, and a list that it begins, part of the thing: "imports from France"."""
_LETTER = re.compile(r"[^\W\d]")
_COLON = re.compile(r"\s*:")
_THAT_OF = pattern(r"['’]s\s*(?:$|[?.!,;]|(?:in|for|since)\b)")
_VERSUS = pattern(r"(?:['’]s)?\s*(?:\b(?:with|against|from)|\bcompared\s+(?:to|with))\s+(?:the\s+)?")
_LISTED = pattern(r"(?:['’]s)?\s*(?:,\s*)?(?:\b(?:and|or|vs\.?|versus)|[,&/+])\s*(?:(?:in|of|for|the)\s+)*")
_DROPPED = str.maketrans(dict.fromkeys((NAME, PEOPLE, YEARS), " "))
_ARTICLE = pattern(r"\bthe\s+(?={name})")
_LISTS = (
    pattern(r"(?:\b(?:both|either)\s+)?[{name}{people}](?:{list_joint}([{name}{people}]))+", any_case=False),
    pattern(r"(?:\b(?:both|either)\s+)?{years}(?:{list_joint}({years}))+", any_case=False),
)
_POLITE = pattern(
    r"^\W*(?:(?:please|(?:can|could|would) you(?: please)?|i(?: want| would like|['’]d like)(?: you)? to)\s+)+"
    r"(?=(?:compare|contrast|explain|describe|show|tell|give)\b)"
)
_ABOUT_NAMES = (
    pattern(r"^\W*{compare}\s+{who}\s*[,:]?\s*"),
    pattern(r"^\W*{asked}{difference}\s+(?:between|among)\s+{who}\s*,?\s*"),
    pattern(
        r"^\W*how\s+(?:do|does|did|are|is|were|was)\s+{who}\s+(?:differ(?:ent)?|compare|rank|vary)"
        r"(?:\s+(?:from|with|to)\s+{any_name}|{each_other})\s*,?\s*"
    ),
    pattern(r"^\W*(?:does|do|did)\s+{who}\s+have\s+(?:more|fewer|less|(?:(?:an?|the)\s+)?{higher})\s+(?!than\b)"),
)
"""Ways to begin after which only the thing compared is left; the names go behind it."""
_OWNS = re.compile(r"['’]s$")
_FIRST_IN = pattern(r"^{in_terms_of}\s+")
_WHICH = pattern(
    r"^(?:(?P<who>{who})\s*[,:]\s*)?[^\w{name}]*(?:which|who)\b(?:\s+(?:one|country|of\s+(?:the|these|those)\s+\w+))?"
    r"(?:(?:\s*,)?\s+(?:of\s+)?(?P<of>{who})(?:\s*,)?)?\s+(?:{be}\s+(?:the\s+)?{higher}"
    r"|(?:has|have|had)\s+(?:(?:the|an?)\s+)?(?:{higher}|more|fewer|less|most|fewest|least))\b(?!\s+than\b)"
)
"""A question for the one that has more of a thing: both are asked for the thing."""
_IN_BRACKETS = pattern(r"^([^?({name}{people}{years}]*)\??\s*\(([^()]+)\)$", any_case=False)
"""What a follow-up carries on, which is all there is to search for behind "Which is higher?" and the like."""
_ANY_MORE = pattern(r"\b{more_or_less}\b")
_AND_WHY = pattern(r"(?:\s*,)?\s+and\s+(?:why|by\s+how\s+much)\W*$")
_OF_WHICH = pattern(r"(?:\s*[,:]\s*(?:(?:in|of)\s+)?|\s+(?:in|between|among)\s+|\s*\?\s*\()(?P<who>{who})\)?")
_HOW = pattern(
    r"^\W*how\s+(?:do|does|did)\s+(.*?)\s*\b(?:differ|compare|vary|(?:change|develop|evolve)(?=\s.*{years}))\b{each_other}"
    r"(?:\s+(?:from|with|to){other_end}{any_name}(?:['’]s)?(?:\s+ones?\b)?)?"
)
_REMOVED = tuple(
    (pattern(words), instead)
    for words, instead in (
        (r"^\W*{compare}\s+(?:(?:it|this|that|them|these|those)\s+(?=(?:with|to|against)\b))?", ""),
        (r"^\W*(?:which|who)\s+of\s+(?={any_name})", ""),
        (r"^\W*{asked}{difference}\s+(?:between|among|in|of|as to|regarding)\s+", ""),
        (
            r",?\s*\band\s+(?:then\s+)?(?:explain|describe|discuss|say|tell me|show)\s+"
            r"(?:{reason}\s+)*(?:differences?|gap|they differ)\b",
            "",
        ),
        (r"(?:\s*,)?\s*\b{compared_to}{other_end}{any_name}(?:['’]s)?", ""),
        (r"\s*\bthan{other_end}{any_name}(?:['’]s)?", ""),
        (r"^\W*{be}\s+(.+?)\s+{higher}(?=\s+in\b|\W*$)", r"\1 "),
        (r"\b(?:the\s+)?(?:higher|lower|greater|highest|lowest|fewer)\b(?!\s+{higher_thing})", ""),
        (r"\b(?:between|among|across)\s+(?=[{name}{years}])", "in "),
    )
)
"""What is taken out of a marked question, in this order, and what stands there instead."""
_BARE = pattern(r"(?:\b{before_name}\s+)*(?:{name}(?:['’]s)?|{years}(?:['’]s)?(?:\s+{edition}\b)?)")
_REPORT = pattern(r"^\W*(?:country\s+)?(?:reports?|editions?|reviews?)\s*:\s*")


def compared_countries(text: str, reading: Reading) -> list[NamedCountry]:
    """What the question is about, and what it is compared with ("higher in Kenya than in Mali"), in text order."""
    return list(_with_compared(text, reading.countries, lambda country: country in reading.about))


def compared_years(text: str, reading: Reading | None = None) -> list[NamedYears]:
    """The years that are compared, those of "the latest report" among ``reading`` too."""
    named = find_years(text)
    known = [(years.start, years.end) for years in named]
    others = [years for years in reading.every_year if (years.start, years.end) not in known] if reading else []
    every = sorted([*named, *others], key=lambda years: years.start)
    return list(_with_compared(text, every, lambda named: named.is_subject))


def names_beside(text: str, names: Sequence[N], said: Sequence[N]) -> list[N]:
    """Of compared names those in ``said``, and those they are compared with: "Germany" in "Germany and Kenya"."""
    if not said:
        return []
    found: list[N] = []
    chains = [(chain, text[max(0, chain[0].start - LONGEST_LEAD) : chain[0].start]) for chain in _chains(text, names)]
    has_other_end = any(_OTHER_END.search(lead) for _, lead in chains)
    for chain, lead in chains:
        is_compared = has_other_end or any(name in said for name in chain)
        if _OTHER_END.search(lead) or (is_compared and not _RELATED.search(lead)):
            found += chain
        else:
            found += [name for name in chain if name in said or _THAT_OF.match(text, name.end)]
    return found


def _chains(text: str, names: Sequence[N]) -> Iterator[list[N]]:
    """Names that follow each other as a list, or as "Kenya with Germany"."""
    chain: list[N] = []
    for name in names:
        between = text[chain[-1].end : name.start] if chain else ""
        if chain and not (_LISTED.fullmatch(between) or _VERSUS.fullmatch(between)):
            yield chain
            chain = []
        chain.append(name)
    if chain:
        yield chain


def _with_compared(text: str, names: Sequence[N], is_subject: Callable[[N], bool]) -> Iterator[N]:
    before: N | None = None  # the last name, where it is at the other end of a comparison: a list may follow
    first = next(_chains(text, names), [])
    opens = len(first) > 1 and _LETTER.search(text[: first[0].start]) is None
    heading = first if opens and _COLON.match(text, first[-1].end) else []  # "Kenya versus Mali: which has ..."
    for name in names:
        lead = text[max(0, name.start - LONGEST_LEAD) : name.start]
        listed = before is not None and _LISTED.fullmatch(text[before.end : name.start]) is not None
        before = name if not is_subject(name) and (listed or _OTHER_END.search(lead)) else None
        if before is not None or is_subject(name) or name in heading:
            yield name


def clean(text: str) -> str:
    """A person's text as the rules expect it: with single spaces, and without the characters that are marks here."""
    return " ".join(text.translate(_DROPPED).split())


def mark_names(text: str, names: Sequence[Named]) -> str:
    """A `clean` text with a mark for each name, and one for names that only follow each other."""
    pieces, done = [], 0
    for name in sorted(names, key=lambda name: name.start):
        mark = YEARS if isinstance(name, NamedYears) else PEOPLE if name.by_people else NAME
        pieces += [text[done : name.start], mark]
        done = name.end
    held = _ARTICLE.sub("", "".join([*pieces, text[done:]]))
    for several in _LISTS:
        held = several.sub(lambda match: match[1], held)
    return held


def plain_question(held: str) -> str:
    """A marked question without the words that only compare: "Compare the area of X and Y" asks for the area."""
    held = _thing_of_which(_POLITE.sub("", held))
    for opening in _ABOUT_NAMES:
        if match := opening.match(held):
            rest = _FIRST_IN.sub("", held[match.end() :]).rstrip(" ?.!")
            held = f"{rest} in {_OWNS.sub('', match[1])}" if rest else match[1]
            break
    else:
        if match := _HOW.match(held):
            held = f"{match[1]} {held[match.end() :]}"
    for removed, instead in _REMOVED:
        held = removed.sub(instead, held)
    held = tidy(held)
    carried = _IN_BRACKETS.match(held)
    return carried[2] if carried and not _stands_alone(carried[1]) else held


def topic(held: str) -> str:
    """The text without its marks and the words that only lead to its topic."""
    return tidy(_REPORT.sub("", _BARE.sub(" ", held).replace(PEOPLE, " ")))


def says_nothing(held: str) -> bool:
    """Whether a plain question has words beside its marks, but none that stands alone: "Why is X poorer?"."""
    left = topic(held)
    return any(map(str.isalnum, left)) and not _stands_alone(left)


def implied(text: str) -> str:
    """The thing that the words of a question ask for which only compare, "" where none does: "Is X bigger than Y?"."""
    said = set(re.findall(r"\w+", text.lower()))
    return next((thing for thing, (compared, _) in IMPLIED.items() if said & compared), "")


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
        thing = f"{implied(match[0])} {thing}".strip()
    return f"{thing} in {_OWNS.sub('', who)}" if who and thing else held

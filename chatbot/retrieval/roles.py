"""Whether a question is about the country it names, or names it in passing ("imports from France").

Rules over the words before and after the name; where none decides, the name counts as passing: an answer that
was not asked for can be seen and scoped, a question that is refused by mistake cannot be answered at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .country_names import NamedCountry

LABEL_WORDS = 3
LONGEST_WORD = 40
_I = re.IGNORECASE
_SENTENCE_END = re.compile(r"[?!]+\s*|\.\s+(?=[A-Z])|\n+")
_WH = r"what|which|who|whom|whose|when|where|why|how"
_AUX = r"is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must"
_TELL = r"tell|give|show|list|describe|explain|summari[sz]e|compare"
_CLAUSE_END = re.compile(rf"[,;:()–—]|\s-\s|\band\s+(?=(?:{_WH}|{_AUX})\b)", _I)
_HEAD = re.compile(
    rf"^\W*(?:(?:and|but|or|so|then|please|in|on|of|at|to|from|by|for)\s+)*(?:{_WH}|{_AUX}|{_TELL})\b", _I
)
_SUBORDINATE = re.compile(r"^\W*(?:where|when)\b", _I)
_LABEL = re.compile(
    r"(?:\b(?:in|for|of|about|on|regarding|concerning|as|and|or|the|reports?|editions?|reviews?|country|years?|re"
    r"|vs|versus)\b"
    r"|['’]s\b|[\d\W_])*",
    _I,
)
"""What may stand beside names in a part of a sentence that only says whom the question is about."""
_GOES_ON = re.compile(r"^\W*(?:and|or)\s+(?:in|for|of|about)\b", _I)
_ASIDE = re.compile(
    r"\b(?:compar(?:ed|ing|ison)\b(?! of)|relative to|opposed to|unlike|such as|including|excluding|except|apart from"
    r"|aside from|besides|other than|rather than|instead of|counting|leaving aside|ignoring|than|while|whereas|given"
    r"|although|though|even if|considering|after|before|because|due to|despite|similar to|for (?:example|instance)"
    r"|e\.g\.|following|since|in (?:view|light) of|in contrast|next to|that of|those of|versus|vs|just like|my|our|we"
    r"|(?<!would )(?<!look )(?<!looks )like|as(?! (?:of|for)\b))\b",
    _I,
)
"""What begins a part of a sentence that is not what is asked; it ends at the next comma, colon or dash."""
_WIDER = r"(?:(?:the|all of|rural|urban|mainland|(?:north|south|east|west|central)(?:ern)?|modern|present-day)\s+)*"
_ABOUT = re.compile(
    r"\b(?:in|of|for|about|on|within|inside|across|throughout|around|at|regarding|concerning|covering|comes to"
    rf"|with (?:respect|regard) to)\s+{_WIDER}$",
    _I,
)
_ELSEWHERE = re.compile(
    r"\b(?:born|living|(?:i|he|she|we|they|who|someone|somebody) (?:live|work)(?:s|d|ed)?|resid\w+|based|headquartered"
    r"|exiled?|stud(?:y|ies|ied|ying)|educated|trained|invest(?:s|ed|ing|ments?)|embass(?:y|ies)|ambassadors?|troops"
    r"|soldiers|diaspora|talks|summit|signed|colleagues?|friends?|boss|clients?|office|team|partners?)"
    r"\s+(?:\w+\s+)?in\s+(?:the\s+)?$"
    r"|\ban?\s+(?:\w+\s+)?(?:neighbou?r|ally|colony|protectorate|possession|part|member|copy|friend)\s+of\s+(?:the\s+)?$"
    r"|\b(?:east|west|north|south|size|invasion|occupation|annexation)\s+of\s+(?:the\s+)?$"
    r"|\b(?:depend(?:s|ed|ent|ence|ency|ing)?|reli(?:es|ed|ant|ance)|rely|war|attacks?|sanctions?|tariffs?|claims?)"
    r"\s+(?:up)?on\s+(?:the\s+)?$"
    r"|\b(?:visas?|market|route|transit)\s+for\s+$",
    _I,
)
"""Words that make "in", "of", "on" or "for" say something of somebody else."""
_OPENED = re.compile(
    rf"(?:^|\b(?:{_AUX}|when|where|why|how|describe|summari[sz]e|explain|show|list|compare|whether|and|or|but|so|then|me"
    rf"|between|countries border))\s*(?:on\s+)?{_WIDER}$",
    _I,
)
_RELATION = re.compile(
    r"\b(?:from|with|to|by|against|than|towards?|into|near|via|between|over|under|without|outside|beyond|alongside|not"
    rf"|through|among|above|below|behind|neighbou?ring)\s+{_WIDER}$",
    _I,
)
_COMPARES = re.compile(
    r"^\W*(?:(?:please\s+)?compare|how (?:do|does|did) (?!(?:it|this|that|they|these)\b).*\bcompare"
    r"|.*\bdifferences?\s+between)\b",
    _I,
)
_VERB = re.compile(rf"\b(?:{_WH}|{_AUX}|{_TELL}|be|been)\b", _I)
_ASKS = re.compile(rf"^\W*(?:please\s+)?(?:{_TELL}|find|i want)\b", _I)
_CONJUNCTION = re.compile(r"\b(?:and|or|vs|versus)\b|[&/]", _I)
_JOINED = re.compile(r"(?:['’]s)?\s*(?:,|,?\s*(?:and|or|&|/|vs\.?|versus)|\+|/)\s*(?:the\s+|in\s+)?", _I)
_PEOPLE_ELSEWHERE = re.compile(
    r"^\s*(?:troops|forces|soldiers|army|refugees|migrants|immigrants|workers|nationals|citizens|tourists|investors?"
    r"|investments?|compan(?:y|ies)|firms?|loans?|aid|embassy|ambassador|language|speakers?|colon\w+|occupation|rule"
    r"|invasion|pirates?|imports?|goods|border|empire|dollars?|pounds?|speaking|territor\w+|ocean|sea)\b",
    _I,
)
"""Of a people's own name: what of it is found in other countries."""


def subjects(text: str, named: Sequence[NamedCountry]) -> list[bool]:
    """For each country in text order: whether the question is about it."""
    decided: list[bool] = []
    for first, last in _lists(text, named):
        about = _is_subject(text, named[first], named)
        decided.append(about)
        is_list = _CONJUNCTION.search(text[named[first].end : named[last].start]) is not None
        for place in range(first + 1, last + 1):
            # "Unlike Kenya, Mali ..." is no list: the comma ends what is said in passing.
            decided.append(about or (not is_list and _is_subject(text, named[place], named)))
    by_name = any(about and not c.by_people for about, c in zip(decided, named, strict=True))
    return [about and not (c.by_people and by_name) for about, c in zip(decided, named, strict=True)]


def _lists(text: str, named: Sequence[NamedCountry]) -> list[tuple[int, int]]:
    """First and last of the countries that follow each other with commas, "and" or "or" in between."""
    found: list[tuple[int, int]] = []
    for place, country in enumerate(named):
        joined = place and _JOINED.fullmatch(text[named[place - 1].end : country.start])
        found.append((found.pop()[0], place) if joined else (place, place))
    return found


def _is_subject(text: str, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    before, sentence = _sentence(text, country)
    clause = before[_last_end(_CLAUSE_END, before) :]
    if _COMPARES.match(sentence) and not _ASIDE.search(before[: len(before) - len(clause)]):
        return True
    if _is_aside(text, sentence, before, country, named) or _ASIDE.search(clause) or _ELSEWHERE.search(clause):
        return False
    if _ABOUT.search(clause):
        return True
    if _RELATION.search(clause):
        return False
    opens = _OPENED.search(clause) is not None or not _VERB.search(sentence)
    return opens or text[country.end :][:2].lower() in {"'s", "’s"}


def _is_aside(text: str, sentence: str, before: str, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    """Whether the name stands in brackets, in another sentence or in a part of it that asks nothing."""
    in_brackets = "(" in before and ")" not in before[before.rindex("(") :]
    if (in_brackets and _VERB.search(sentence)) or _is_statement(text, sentence):
        return True
    after = text[country.end : country.end + LONGEST_WORD]
    if country.by_people and (_PEOPLE_ELSEWHERE.match(after) or after[:1] == "-"):
        return True
    return _is_beside_the_question(sentence, len(before), country.start - len(before), named)


def _sentence(text: str, country: NamedCountry) -> tuple[str, str]:
    """The sentence up to the country, and all of it."""
    start, end = 0, len(text)
    for border in _SENTENCE_END.finditer(text):
        if border.end() <= country.start:
            start = border.end()
        elif border.start() >= country.end:
            end = border.end()
            break
    return text[start : country.start], text[start:end]


def _is_statement(text: str, sentence: str) -> bool:
    """Whether a sentence only says something beside a question: a label or keywords are none."""
    if "?" in sentence or "?" not in text or _ASKS.match(sentence):
        return False
    leads_to_it = "?" in text[text.index(sentence) + len(sentence) :]
    return _VERB.search(sentence) is not None or (leads_to_it and len(sentence.split()) > LABEL_WORDS)


def _is_beside_the_question(sentence: str, place: int, offset: int, named: Sequence[NamedCountry]) -> bool:
    """Whether the part of the sentence around ``place`` is not the one that asks, and more than a label to it."""
    ends = [found.end() for found in _CLAUSE_END.finditer(sentence)]
    parts = list(zip([0, *ends], [*ends, len(sentence)], strict=True))
    heads = [start for start, end in parts if _HEAD.match(sentence[start:end])]
    if len(heads) > 1 and _SUBORDINATE.match(sentence[heads[0] :]):
        heads = heads[1:]
    start, end = next(part for part in parts if part[0] <= place < part[1])
    if not heads or start == heads[0] or (start > heads[0] and _GOES_ON.match(sentence[start:end])):
        return False
    inside = [name for name in named if start <= name.start - offset < end]
    left = start
    for name in [*inside, None]:
        rest = sentence[left : name.start - offset if name else end]
        if _LABEL.fullmatch(rest) is None:
            return True
        left = name.end - offset if name else end
    return False


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    return max((found.end() for found in pattern.finditer(text)), default=0)

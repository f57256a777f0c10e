"""Lists of anything, where a text says that it asks about a list: "Tell me about drought, hunger and refugees".

From three things on, each a noun or two: of two things "and" as often makes one ("law and order"). The rules know
English.
"""

from __future__ import annotations

import re

from .comparisons import NAME

_NO_NOUN = (
    r"(?:and|or|but|nor|not|no|of|in|on|at|by|for|from|to|with|without|about|than|as|if|so|then|also|both|either|neither|how"
    r"|what|which|who|whom|whose|when|where|why|whether|is|are|was|were|be|been|being|do|does|did|has|have|had|can|could|will"
    r"|would|should|may|might|must|that|this|these|those|it|they|he|she|we|i|you|me|us|them|him|my|your|our|his|her|more|most"
    r"|less|least|very|too|other|others|all|any|some|such|etc|between|since|during|over|please|maybe|perhaps|especially)\b"
)
_WORD = rf"(?!{_NO_NOUN})(?:[a-z][\w-]*|[A-Z]{{2,5}})\b(?!['’])"
_NOUN = rf"(?:the\s+)?{_WORD}(?:\s+{_WORD})?"
_ASKS_ABOUT = (
    r"\b(?:(?:[Tt]ell|[Ii]nform) (?:me|us)|(?:[Kk]now|[Ll]earn|[Hh]ear|[Rr]ead)(?: (?:more|something))?|[Ww]hat) about"
    r"|\b[Ww]hat (?:do|does|did) (?:the|these|this|those|your)(?: \w+){1,2} (?:say|state|report|write) (?:about|on)"
)
_HEADING = rf"^(?=[^:]*{NAME})(?:\W|\b(?:and|or|vs|versus|in|the|reports?)\b)*:"
"""Names and a colon."""
_LIST = re.compile(
    rf"(?:{_ASKS_ABOUT}|{_HEADING})\s+"
    rf"(?P<items>(?:{_NOUN}|[A-Z][\w-]*(?:\s+{_WORD})?)(?:\s*,\s*{_NOUN})+\s*,?\s+(?:and|&)\s+{_NOUN})"
    rf"(?=\s*(?:$|[?.!;])|\s+(?:in|of|for|since|from|between|during|over)\s+(?:the\s+)?{NAME}|\s+{NAME})"
)
_SEPARATOR = re.compile(r"(?:\s*,)?\s+(?:and|&)\s+|\s*,\s*")
_ARTICLE = re.compile(r"^the\s+")
_ONE_THING = re.compile(
    r"\b(?:oil|law|war|arts?|food|research|supply|checks|water|import|health|trial|bread)\s+(?:and|&)"
    r"\s+(?:gas|order|peace|crafts?|drinks?|agriculture|development|demand|balances|sanitation|exports?|safety|error|butter)\b"
)


def find(covered: str) -> tuple[int, int, list[str]] | None:
    """Where the list of a text is, and what it lists; ``covered``: the text with `NAME` for each letter of a name."""
    match = _LIST.search(covered)
    if match is None or _ONE_THING.search(match["items"]):
        return None
    items = _SEPARATOR.split(match["items"])
    words = [len(_ARTICLE.sub("", item).split()) for item in items]
    if words[-1] > min(words):
        return None  # they may share the last noun: "infant, child and maternal mortality"
    return *match.span("items"), items

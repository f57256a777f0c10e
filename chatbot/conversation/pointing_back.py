"""How a message says that it goes on with what was asked before. English."""

from __future__ import annotations

import re

from ..retrieval.figures import MORE_OR_LESS

_I = re.IGNORECASE
LEADS_ON = re.compile(
    r"^\W*(?:and|but|or|so|then|also|what about|how about|how come|why|ok|okay|got it|thanks?|thank you|i see|wow|yes"
    r"|no|sorry|i mean|i meant|(?:the )?same (?:for|with|on|about)|are you sure|you (?:said|mention(?:ed)?|say)"
    r"|besides)\b",
    _I,
)
POINTS_BACK = re.compile(
    r"\b(?:its?|they|them|theirs?|he|him|his|she|hers?|this|these|those|both|former|latter|another|else|mentioned|instead"
    r"|too|also|(?:the|any|which|that|this) (?:same|ones?|others?)"
    r"|that(?=\s+(?:is|was|mean\w*|year|country|one)\b|\s*[?.!,]|$)"
    r"|(?:of|in|for|about|like|than|does|is|did|after|before) that|others?(?=\s*[?.!]|$)"
    r"|(?<!are )(?<!is )(?<!were )(?<!was )there(?!\s+(?:is|are|was|were|has|have|any|an?)\b))\b",
    _I,
)
COMPLETE = re.compile(
    r"^\W*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|had|may|might|am|tell|give|list|show|describe|explain|summari[sz]e|compare)\b",
    _I,
)
WHICH_ONE = re.compile(
    rf"^\W*(?:which|who)\b(?:\s+(?:one|country|of\s+(?:the\s+)?(?:two|three|them|these|those)))?\s+(?:is|are|was|were|has|have|had)\s+(?:the\s+)?{MORE_OR_LESS}\W*$",
    _I,
)
"""Asks for the one that has more of a thing, and says neither of whom nor of what."""
SMALL_TALK = """
please thanks thank ok okay oh hi hello help tell know want like think mean meant said say got get see sure yes yeah no
sorry let give provide more information info detail details something anything thing things could would may might shall
must same again interested really actually wait understand good great nice right bit little lot many much way else still
even also add include plus
"""
WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
POSSESSIVE = re.compile(r"['’]s?$")
COMMAND = re.compile(
    r"^\W*(?:please\s+)?(?:compare(?: and contrast)?|contrast|rank|describe|explain|summari[sz]e|list|show)\b", _I
)
"""Says what to do with the topic, and is none."""
COMPARES_BACK = re.compile(
    r"^\W*(?:please\s+)?(?:compare|contrast)\s+(?:(?:it|this|that|them|these|those)\s+)?(?:with|to|against)\b", _I
)
"""What was asked before is one side, the names here are the other: "Compare it with Mali"."""
SEVERAL = re.compile(
    r"\b(?:both|them|they|the two|these|those|each|differences?|differ)\b|^\W*(?:compare|contrast|rank)\W*$", _I
)
"""Speaks of more than one of what was asked about."""
OF_A_TOPIC = frozenset(
    [
        "difference",
        "differences",
        "gap",
        "cause",
        "causes",
        "reason",
        "reasons",
        "effect",
        "effects",
        "consequence",
        "consequences",
        "trend",
        "trends",
        "number",
        "numbers",
        "figures",
        "table",
        "explain",
        "explains",
    ]
)
"""Words that make no question of their own: "What is the difference?"."""
RELATION = re.compile(r"\b(?:from|with|to|by|against|than)\s+(?:the\s+)?$", _I)

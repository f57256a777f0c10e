"""Follow-up questions by rule: what of the conversation a question needs to be understood alone.

The rules know English. In other languages only a question of few words counts as a follow-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..protocols import Catalog
from ..retrieval.compared import COMPARES, compared_countries, compared_years
from ..retrieval.figures import MORE_OR_LESS
from ..retrieval.mentions import COUNTRY, YEAR, Mentions, find_mentions
from ..retrieval.names import ALL_COUNTRIES, Named, exchanged, joined, placed
from ..retrieval.small_talk import is_small_talk
from ..schema import Message, Scope
from ..text import Analyzer
from . import new_topic

TURNS = 3
"""Questions that a follow-up may take words from; measured with `benchmarks/follow_ups.py`."""
MOST_WORDS = 16
LONGEST = 1000
"""Characters of an earlier question."""
FEW = 3
"""Words of a message that is no sentence: so few do not make a question."""
_I = re.IGNORECASE
_LEADS_ON = re.compile(
    r"^\W*(?:and|but|or|so|then|also|what about|how about|how come|why|ok|okay|got it|thanks?|thank you|i see|wow|yes"
    r"|no|sorry|i mean|i meant|(?:the )?same (?:for|with|on|about)|are you sure|you (?:said|mention(?:ed)?|say)"
    r"|besides)\b",
    _I,
)
_POINTS_BACK = re.compile(
    r"\b(?:its?|they|them|theirs?|he|him|his|she|hers?|this|these|those|both|former|latter|another|else|mentioned|instead"
    r"|too|also|(?:the|any|which|that|this) (?:same|ones?|others?)"
    r"|that(?=\s+(?:is|was|mean\w*|year|country|one)\b|\s*[?.!,]|$)"
    r"|(?:of|in|for|about|like|than|does|is|did|after|before) that|others?(?=\s*[?.!]|$)"
    r"|(?<!are )(?<!is )(?<!were )(?<!was )there(?!\s+(?:is|are|was|were|has|have|any|an?)\b))\b",
    _I,
)
_COMPLETE = re.compile(
    r"^\W*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|had|may|might|am|tell|give|list|show|describe|explain|summari[sz]e|compare)\b",
    _I,
)
_WHICH_ONE = re.compile(
    rf"^\W*(?:which|who)\b(?:\s+(?:one|country))?\s+(?:is|are|was|were|has|have|had)\s+(?:the\s+)?{MORE_OR_LESS}\W*$",
    _I,
)
"""Asks for the one that has more of a thing, and says neither of whom nor of what."""
SMALL_TALK = """
please thanks thank ok okay oh hi hello help tell know want like think mean meant said say got get see sure yes yeah no
sorry let give provide more information info detail details something anything thing things could would may might shall
must same again interested really actually wait understand good great nice right bit little lot many much way else still
even
"""
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_COMMAND = re.compile(
    r"^\W*(?:please\s+)?(?:compare(?: and contrast)?|contrast|rank|describe|explain|summari[sz]e|list|show)\b", _I
)
"""Says what to do with the topic, and is none."""
_RELATION = re.compile(r"\b(?:from|with|to|by|against|than)\s+(?:the\s+)?$", _I)


class FollowUps:
    """``analyzer``: of the language of the questions; ``catalog``: the data, for countries that only it has."""

    def __init__(self, analyzer: Analyzer, catalog: Catalog) -> None:
        self._analyzer = analyzer
        self._catalog = catalog
        self._small_talk = frozenset(SMALL_TALK.split())

    def needs_history(self, query: str, history: Sequence[Message], scope: Scope) -> bool:
        """Whether the question, taken alone, would be another one or none."""
        return self.by_rule(query, history, scope) != query

    def by_rule(self, query: str, history: Sequence[Message], scope: Scope) -> str:
        """The question with what it needs of the last few questions; itself, where it needs nothing.

        A country or year is exchanged where only that is new ("and in Ethiopia?"), else words are carried over.
        """
        before = ""
        for asked in _questions(history)[-TURNS:]:
            if self._words(asked) and not is_small_talk(asked):
                before = self._continued(asked, before, scope) if before else asked
        return self._continued(query, before, scope) if before and not is_small_talk(query) else query

    def _continued(self, query: str, before: str, scope: Scope) -> str:
        mentions = find_mentions(query, self._catalog)
        if self.is_elliptic(query):
            other = exchanged(query, mentions, before, self._catalog, self._words)
            other = other or self._on_another_topic(query, mentions, before, scope)
            return other or self._carried(query, mentions, before, scope)
        if not self._lacks_country(query, before, scope):
            return query
        return _with(query, filter(None, map(joined, self._names(mentions, before, scope))))

    def _on_another_topic(self, query: str, mentions: Mentions, before: str, scope: Scope) -> str:
        """What is asked of the earlier question's countries and years instead of its own topic; "" = nothing else."""
        earlier = find_mentions(before, self._catalog)
        if not (earlier.about or earlier.years or scope.get(COUNTRY)):
            return ""  # the topic is all that the conversation is about
        countries, years = self._names(mentions, before, scope)
        if _asks(query):
            names = filter(None, (joined(countries), joined(years)))
            return _with(query, names) if new_topic.is_of_a_figure(query, _POINTS_BACK) else ""
        is_compared = COMPARES.search(before) is not None and len(mentions.about) != 1
        asked = new_topic.thing(query, self._words, _POINTS_BACK)
        if not asked or not (new_topic.is_of_figures(asked) or new_topic.is_of_figures(before)):
            return ""  # "deaths?" after a flood: of which, has to be said
        return new_topic.asked_of(asked, countries, years, compared=is_compared)

    def _names(self, mentions: Mentions, before: str, scope: Scope) -> tuple[list[str], list[str]]:
        """The earlier question's countries and years that the later one and the scope leave open."""
        earlier, known = find_mentions(before, self._catalog), self._catalog.values(YEAR)
        countries = [] if mentions.about or scope.get(COUNTRY) else compared_countries(before, earlier)
        years = [] if mentions.years or scope.get(YEAR) else compared_years(before)
        years = [named for named in years if any(map(named.condition.matches, known))]
        return [placed(before, name, usual=True) for name in countries], [before[y.start : y.end] for y in years]

    def is_elliptic(self, query: str) -> bool:
        """Whether words are missing that only a conversation can give."""
        mentions = find_mentions(query, self._catalog)
        rest = query
        while lead := _LEADS_ON.match(rest):
            rest = rest[lead.end() :]
        complete = _COMPLETE.match(rest) is not None
        if mentions.about and (complete or (rest == query and len(self._words(query)) > 1)):
            return False
        if rest != query or _POINTS_BACK.search(query) or _WHICH_ONE.match(query):
            return True
        return len(self._words(_COMMAND.sub("", query))) <= (0 if complete else FEW)

    def _lacks_country(self, query: str, before: str, scope: Scope) -> bool:
        """Whether the conversation is about a country and the question, complete as it is, names none."""
        if scope.get(COUNTRY) is not None or not self._catalog.values(COUNTRY) or ALL_COUNTRIES.search(query):
            return False
        return not find_mentions(query, self._catalog).countries and bool(find_mentions(before, self._catalog).about)

    def _carried(self, query: str, mentions: Mentions, before: str, scope: Scope) -> str:
        """The question, and behind it the words of the earlier one that it does not have."""
        earlier = find_mentions(before, self._catalog)
        dropped: list[Named] = [*earlier.about] if mentions.about or scope.get(COUNTRY) else []
        dropped += earlier.years if mentions.years or scope.get(YEAR) else ()
        kept = [country for country in earlier.countries if country not in dropped]
        known = set(self._analyzer.terms(query))
        words: list[str] = []
        for word in self._units(before, kept, dropped):
            terms = self._analyzer.terms(word)
            if not known.issuperset(terms):
                known.update(terms)
                words.append(word)
        return _with(query, words[:MOST_WORDS])

    def _units(self, text: str, whole: Sequence[Named], dropped: Sequence[Named]) -> list[str]:
        """The words with a meaning of their own, names in one piece; what is only related ("from France") stays so."""
        names = {name.start: name for name in whole}
        gone = [(name.start, name.end) for name in dropped]
        units: list[str] = []
        command = _COMMAND.match(text)
        done = command.end() if command else 0
        for match in _WORD.finditer(text):
            if match.start() < done or any(start <= match.start() < end for start, end in gone):
                continue
            if name := names.get(match.start()):
                relation = _RELATION.search(text[: name.start])
                units.append((relation[0] if relation else "") + text[name.start : name.end])
                done = name.end
            elif self._words(match[0]):
                units.append(_POSSESSIVE.sub("", match[0]))
        return units

    def _words(self, text: str) -> list[str]:
        """Words with a meaning of their own, in text order."""
        words = (_POSSESSIVE.sub("", match[0]) for match in _WORD.finditer(text))
        return [word for word in words if word.lower() not in self._small_talk and self._analyzer.terms(word)]


def _questions(history: Sequence[Message]) -> list[str]:
    return [message.content[:LONGEST] for message in history if message.role == "user"]


def _asks(query: str) -> bool:
    """Whether the message is a whole question, whatever leads to it."""
    while lead := _LEADS_ON.match(query):
        query = query[lead.end() :]
    return _COMPLETE.match(query) is not None


def _with(query: str, words: Iterable[str]) -> str:
    """The message with words of an earlier one, in brackets: no rule takes them for a sentence of their own."""
    carried = " ".join(words)
    ended = query.rstrip() if query.rstrip()[-1:] in {"?", "!", "."} else f"{query.rstrip()}?"
    return f"{ended} ({carried})" if carried else query

"""Follow-up questions by rule: what of the conversation a question needs to be understood alone.

One that asks for something else of the same countries and years ("and inflation?") needs only their names: words of the
topic before would outweigh its own in a search. In languages other than English only a question of few words counts as
a follow-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..protocols import Catalog
from ..schema import Message, Scope
from ..text import Analyzer
from .comparisons import COMPARES, compared_countries, compared_years
from .english import pattern, words
from .mentions import COUNTRY, YEAR, Mentions, find_mentions
from .names import Named
from .sentences import ALL_COUNTRIES, Words, exchange_names, is_small_talk
from .wording import add_name, as_sentence, list_in_words, name_in_words, remove_names

TURNS = 3
"""Questions that a follow-up may take words from; measured with `benchmarks/follow_ups.py`.

Where the first of them is itself no question without the one before it, those before it count too, up to `MOST_TURNS`.
"""
MOST_TURNS = 12
MOST_WORDS = 16
LONGEST = 1000
"""Characters of an earlier question."""
FEW = 3
"""Words of a message that is no sentence: so few do not make a question."""
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_LEADS_ON = pattern(r"^\W*{leads_on}\b")
_POINTS_BACK = pattern(r"\b{points_back}\b")
_COMPLETE = pattern(r"^\W*(?:{wh}|{be}|{do}|{have}|{modal}|am|{tell})\b")
_WHICH_ONE = pattern(
    r"^\W*(?:which|who)\b(?:\s+(?:one|country|of\s+(?:the\s+)?(?:two|three|them|these|those)))?"
    r"\s+(?:{be}|{have})\s+(?:the\s+)?{more_or_less}\W*$"
)
"""Asks for the one that has more of a thing, and says neither of whom nor of what."""
_COMMAND = pattern(
    r"^\W*(?:please\s+)?(?:compare(?: and contrast)?|contrast|rank|describe|explain|summari[sz]e|list|show)\b"
)
"""Says what to do with the topic, and is none."""
_COMPARES_BACK = pattern(
    r"^\W*(?:please\s+)?(?:compare|contrast)\s+(?:(?:it|this|that|them|these|those)\s+)?(?:with|to|against)\b"
)
"""What was asked before is one side, the names here are the other: "Compare it with Mali"."""
_SEVERAL = pattern(r"\b{several}\b|^\W*(?:compare|contrast|rank)\W*$")
_RELATION = pattern(r"\b(?:from|with|to|by|against|than)\s+(?:the\s+)?$")
_LEADS_TO_TOPIC = pattern(r"^\W*(?:{leads_to_topic}\b\W*)+")
_OF_THE_SAME = pattern(r"\s*,?\s*\b{of_the_same}(?=\s*(?:$|[?.!,]))")
_WHOSE = pattern(r"\b(?:its|their)\s+(?={figure})")
_OWNED = pattern(r"^(?:its|their)\s+")
_FIGURE = pattern(r"\b{figure}")
_MORE_OR_LESS = pattern("{more_or_less}")
_NO_TOPIC = pattern(r"^\W*{no_topic}\b|^\W*$")
_IDLE_WORDS, _OF_A_TOPIC, _DEPENDENT_WORDS = map(words, ("idle_words", "of_a_topic", "dependent_words"))
_PLACE = re.compile(r"^(?:[A-Z][a-z]+\s*)+$")
"""A name behind "and": of a place, whose topic is the one before."""


class FollowUps:
    """``analyzer``: of the language of the questions; ``catalog``: the data, for countries that only it has."""

    def __init__(self, analyzer: Analyzer, catalog: Catalog) -> None:
        self._analyzer = analyzer
        self._catalog = catalog

    def by_rule(self, query: str, history: Sequence[Message], scope: Scope) -> str:
        """The question with what it needs of the last few questions; itself, where it needs nothing.

        A country or year is exchanged where only that is new ("and in Ethiopia?"), else words are carried over.
        """
        if is_small_talk(query):
            return query
        before: list[str] = []  # each with what it needed of those before it
        for asked in self._latest(history):
            before.append(self._continued(asked, self._meant(asked, before), scope) if before else asked)
        return self._continued(query, self._meant(query, before), scope) if before else query

    def _latest(self, history: Sequence[Message]) -> list[str]:
        """The questions that matter, oldest first; the first of them is one by itself, if there is such a one."""
        said = [message.content[:LONGEST] for message in history if message.role == "user"]
        asked = [text for text in said if self._words(text) and not is_small_talk(text)]
        first = max(len(asked) - TURNS, 0)
        while first and len(asked) - first < MOST_TURNS and self._goes_on(asked[first]):
            first -= 1
        return asked[first:]

    def _goes_on(self, query: str) -> bool:
        """Whether a question says so itself: by how it begins, by a word that points back, or by a bare name."""
        mentions = find_mentions(query, self._catalog)
        says = _LEADS_ON.match(query) or _POINTS_BACK.search(query) or mentions.countries or mentions.years
        return bool(says) and self.is_elliptic(query)

    def _meant(self, query: str, before: Sequence[str]) -> str:
        """The question before; for "Compare both", with the names of all that asked the same of others."""
        last = find_mentions(before[-1], self._catalog)
        if len(last.about) != 1 or not (_SEVERAL.search(query) or _WHICH_ONE.match(query)):
            return before[-1]
        names = {name.keys: before[-1][name.start : name.end] for name in last.about}
        for earlier in reversed(before[:-1]):
            mentions = find_mentions(earlier, self._catalog)
            if self._words(remove_names(earlier, mentions.about)) != self._words(remove_names(before[-1], last.about)):
                break
            names |= {name.keys: earlier[name.start : name.end] for name in mentions.about if name.keys not in names}
        several = " and ".join(reversed(names.values()))
        return (
            exchange_names(several, find_mentions(several, self._catalog), before[-1], self._catalog, self._words)
            or before[-1]
        )

    def _continued(self, query: str, before: str, scope: Scope) -> str:
        mentions = find_mentions(query, self._catalog)
        if self.is_elliptic(query):
            other = exchange_names(query, mentions, before, self._catalog, self._words)
            other = other or self._on_another_topic(query, mentions, before, scope)
            return other or self._carried(query, mentions, before, scope)
        is_of_all = mentions.countries or scope.get(COUNTRY) or ALL_COUNTRIES.search(query)
        if is_of_all or not self._catalog.values(COUNTRY) or not find_mentions(before, self._catalog).about:
            return query  # it is complete, and the conversation has no country that it lacks
        return _with(query, filter(None, map(list_in_words, self._names(mentions, before, scope))))

    def _on_another_topic(self, query: str, mentions: Mentions, before: str, scope: Scope) -> str:
        """What is asked of the earlier question's countries and years instead of its own topic; "" = nothing else."""
        earlier = find_mentions(before, self._catalog)
        if not (earlier.about or earlier.years or scope.get(COUNTRY)):
            return ""  # the topic is all that the conversation is about
        countries, years = self._names(mentions, before, scope)
        if _COMPLETE.match(_without_lead(query)):
            names = filter(None, map(list_in_words, (countries, years)))
            return _with(query, names) if _is_of_a_figure(query) else ""
        is_compared = COMPARES.search(before) is not None and len(mentions.about) != 1
        asked = new_topic(query, self._words)
        if not asked or not (_FIGURE.search(asked) or _FIGURE.search(before)):
            return ""  # "deaths?" after a flood: of which, has to be said
        asked = f"compare {asked}" if is_compared else asked
        for name in filter(None, map(list_in_words, (countries, years))):
            asked = add_name(asked, name)
        return as_sentence(asked)

    def _names(self, mentions: Mentions, before: str, scope: Scope) -> tuple[list[str], list[str]]:
        """The earlier question's countries and years that the later one and the scope leave open."""
        earlier, known = find_mentions(before, self._catalog), self._catalog.values(YEAR)
        countries = [] if mentions.about or scope.get(COUNTRY) else compared_countries(before, earlier)
        years = [] if mentions.years or scope.get(YEAR) else compared_years(before)
        years = [named for named in years if any(map(named.condition.matches, known))]
        return [name_in_words(before, name, usual=True) for name in countries], [before[y.start : y.end] for y in years]

    def is_elliptic(self, query: str) -> bool:
        """Whether words are missing that only a conversation can give."""
        mentions = find_mentions(query, self._catalog)
        rest = _without_lead(query)
        complete = _COMPLETE.match(rest) is not None
        if _COMPARES_BACK.match(rest):
            return True
        if mentions.about and (complete or (rest == query and len(self._words(query)) > 1)):
            return False
        if rest != query or _POINTS_BACK.search(query) or _WHICH_ONE.match(query):
            return True
        words = self._words(_COMMAND.sub("", query))
        return len(words) <= (0 if complete else FEW) or all(word.lower() in _OF_A_TOPIC for word in words)

    def _carried(self, query: str, mentions: Mentions, before: str, scope: Scope) -> str:
        """The question, and behind it the words of the earlier one that it does not have."""
        earlier = find_mentions(before, self._catalog)
        is_other_side = _COMPARES_BACK.match(query) is not None
        dropped: list[Named] = [*earlier.about] if (mentions.about and not is_other_side) or scope.get(COUNTRY) else []
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
        return [word for word in words if word.lower() not in _IDLE_WORDS and self._analyzer.terms(word)]


def _without_lead(query: str) -> str:
    """The message behind all the words that lead to it: "ok, and"."""
    while lead := _LEADS_ON.match(query):
        query = query[lead.end() :]
    return query


def _with(query: str, words: Iterable[str]) -> str:
    """The message with words of an earlier one, in brackets: no rule takes them for a sentence of their own."""
    carried = " ".join(words)
    ended = f"{query.rstrip(' ?!.')}?"  # names behind a full stop would be a sentence of their own
    return f"{ended} ({carried})" if carried else query


def new_topic(query: str, meaning: Words) -> str:
    """What a message of a few words asks for, as a noun: "inflation" of "And their inflation?"; "" where it is none.

    ``meaning``: the words of a text that have one of their own; "and the causes?" has one that needs more.
    """
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1)).strip(" ?.!")
    rest = _OWNED.sub("", rest)
    if _NO_TOPIC.search(rest) or _POINTS_BACK.search(rest) or any(mark in rest for mark in "?!\n"):
        return ""
    if _LEADS_TO_TOPIC.match(query) and _PLACE.match(rest):
        return ""
    return "" if all(map(_is_dependent, meaning(rest))) else rest


def _is_of_a_figure(query: str) -> bool:
    """Whether a whole question names the figure that it asks for: "And how high is its inflation?"."""
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1))
    if _POINTS_BACK.search(_WHOSE.sub("", rest)):
        return False
    words = {word for figure in _FIGURE.findall(rest) for word in figure.lower().split()}
    return not all(map(_is_dependent, words - {"the", "its", "their"}))


def _is_dependent(word: str) -> bool:
    """Whether a word says nothing without the thing that it belongs to: "and the causes?", "and for men?"."""
    return word.lower() in _DEPENDENT_WORDS or _MORE_OR_LESS.fullmatch(word) is not None or not word[0].isalpha()

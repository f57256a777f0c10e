"""Follow-up questions by rule: what of the conversation a question needs to be understood alone.

The rules know English. In other languages only a question of few words counts as a follow-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..protocols import Catalog
from ..retrieval.compared import COMPARES, compared_countries, compared_years
from ..retrieval.mentions import COUNTRY, YEAR, Mentions, find_mentions
from ..retrieval.names import ALL_COUNTRIES, Named, exchanged, joined, placed, without
from ..retrieval.small_talk import is_small_talk
from ..schema import Message, Scope
from ..text import Analyzer
from . import new_topic
from .pointing_back import (
    COMMAND,
    COMPARES_BACK,
    COMPLETE,
    LEADS_ON,
    OF_A_TOPIC,
    POINTS_BACK,
    POSSESSIVE,
    RELATION,
    SEVERAL,
    SMALL_TALK,
    WHICH_ONE,
    WORD,
)

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


class FollowUps:
    """``analyzer``: of the language of the questions; ``catalog``: the data, for countries that only it has."""

    def __init__(self, analyzer: Analyzer, catalog: Catalog) -> None:
        self._analyzer = analyzer
        self._catalog = catalog
        self._small_talk = frozenset(SMALL_TALK.split())

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
        asked = [text for text in _questions(history) if self._words(text) and not is_small_talk(text)]
        first = max(len(asked) - TURNS, 0)
        while first and len(asked) - first < MOST_TURNS and self._goes_on(asked[first]):
            first -= 1
        return asked[first:]

    def _goes_on(self, query: str) -> bool:
        """Whether a question says so itself: by how it begins, by a word that points back, or by a bare name."""
        mentions = find_mentions(query, self._catalog)
        says = LEADS_ON.match(query) or POINTS_BACK.search(query) or mentions.countries or mentions.years
        return bool(says) and self.is_elliptic(query)

    def _meant(self, query: str, before: Sequence[str]) -> str:
        """The question before; for "Compare both", with the names of all that asked the same of others."""
        last = find_mentions(before[-1], self._catalog)
        if len(last.about) != 1 or not (SEVERAL.search(query) or WHICH_ONE.match(query)):
            return before[-1]
        names = {name.keys: before[-1][name.start : name.end] for name in last.about}
        for earlier in reversed(before[:-1]):
            mentions = find_mentions(earlier, self._catalog)
            if self._words(without(earlier, mentions.about)) != self._words(without(before[-1], last.about)):
                break
            names |= {name.keys: earlier[name.start : name.end] for name in mentions.about if name.keys not in names}
        several = " and ".join(reversed(names.values()))
        return (
            exchanged(several, find_mentions(several, self._catalog), before[-1], self._catalog, self._words)
            or before[-1]
        )

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
            return _with(query, names) if new_topic.is_of_a_figure(query) else ""
        is_compared = COMPARES.search(before) is not None and len(mentions.about) != 1
        asked = new_topic.thing(query, self._words)
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
        while lead := LEADS_ON.match(rest):
            rest = rest[lead.end() :]
        complete = COMPLETE.match(rest) is not None
        if COMPARES_BACK.match(rest):
            return True
        if mentions.about and (complete or (rest == query and len(self._words(query)) > 1)):
            return False
        if rest != query or POINTS_BACK.search(query) or WHICH_ONE.match(query):
            return True
        words = self._words(COMMAND.sub("", query))
        return len(words) <= (0 if complete else FEW) or all(word.lower() in OF_A_TOPIC for word in words)

    def _lacks_country(self, query: str, before: str, scope: Scope) -> bool:
        """Whether the conversation is about a country and the question, complete as it is, names none."""
        if scope.get(COUNTRY) is not None or not self._catalog.values(COUNTRY) or ALL_COUNTRIES.search(query):
            return False
        return not find_mentions(query, self._catalog).countries and bool(find_mentions(before, self._catalog).about)

    def _carried(self, query: str, mentions: Mentions, before: str, scope: Scope) -> str:
        """The question, and behind it the words of the earlier one that it does not have."""
        earlier = find_mentions(before, self._catalog)
        is_other_side = COMPARES_BACK.match(query) is not None
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
        command = COMMAND.match(text)
        done = command.end() if command else 0
        for match in WORD.finditer(text):
            if match.start() < done or any(start <= match.start() < end for start, end in gone):
                continue
            if name := names.get(match.start()):
                relation = RELATION.search(text[: name.start])
                units.append((relation[0] if relation else "") + text[name.start : name.end])
                done = name.end
            elif self._words(match[0]):
                units.append(POSSESSIVE.sub("", match[0]))
        return units

    def _words(self, text: str) -> list[str]:
        """Words with a meaning of their own, in text order."""
        words = (POSSESSIVE.sub("", match[0]) for match in WORD.finditer(text))
        return [word for word in words if word.lower() not in self._small_talk and self._analyzer.terms(word)]


def _questions(history: Sequence[Message]) -> list[str]:
    return [message.content[:LONGEST] for message in history if message.role == "user"]


def _asks(query: str) -> bool:
    """Whether the message is a whole question, whatever leads to it."""
    while lead := LEADS_ON.match(query):
        query = query[lead.end() :]
    return COMPLETE.match(query) is not None


def _with(query: str, words: Iterable[str]) -> str:
    """The message with words of an earlier one, in brackets: no rule takes them for a sentence of their own."""
    carried = " ".join(words)
    ended = f"{query.rstrip(' ?!.')}?"  # names behind a full stop would be a sentence of their own
    return f"{ended} ({carried})" if carried else query

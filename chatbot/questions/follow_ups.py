"""Follow-up questions by rule: what of the conversation a question needs to be understood alone.

One that asks for something else of the same countries and years ("and inflation?") needs only their names: words of the
topic before would outweigh its own in a search. In languages other than English only a question of few words counts as
a follow-up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..domain import Message, Scope
from ..domain.protocols import Catalog
from ..domain.reading import Named, Reading
from ..language import Analyzer
from .english import pattern, words
from .exchange import (
    COMPARING,
    FIGURE,
    OF_A_COUNTRY,
    POINTS_BACK,
    RELATION,
    exchange_names,
    is_dependent,
    is_of_country,
    is_of_figure,
    new_topic,
    unnamed,
)
from .reading import COUNTRY, YEAR, read_names
from .sentences import is_small_talk
from .sides import COMPARES, compared_countries
from .wording import (
    add_name,
    as_sentence,
    edition_in_words,
    list_in_words,
    name_in_words,
    placed,
    remove_names,
    years_in_words,
)
from .years import find_years

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
_MARKS = ("?", "؟", "？")
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_ALL_COUNTRIES = pattern("{all_countries}")
"""A question with one of these may be about more than the country named before."""
_LEADS_ON = pattern(r"^\W*{leads_on}\b")
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
_CHANGES_TOPIC = pattern(r"^\W*(?:{polite}\b\W*)*(?:{changes_topic}\b\W*)+(?:(?:{polite})\b\W*)*")
_ANSWER_AGAIN = pattern(
    r"^\W*(?:{polite}\b\W*)*(?:(?:can|could|would) you\s+)?(?:{polite}\s+)?(?:{answer_again}\s*)?"
    r"(?:(?:in|into|to|auf|en|em)\s+{language}|{form}(?:\W+(?:and\s+)?{form})*)"
    r"\W*(?:please|bitte|por favor|thanks|s['’]il vous pla[iî]t)?\W*$"
)
"""Asks for the same in another form: "In French please"."""
_SEVERAL = pattern(r"\b{several}\b|^\W*(?:compare|contrast|rank)\W*$")
_TOGETHER = pattern(r"\b(?:both|the two|differences?|differ)\b|\b{comparing}\b")
"""Asks of several at once what was asked last; "them" may be the exports."""
_PAIR = pattern(r"\b(?:both|the two)\b")
_PART_OF = pattern(r"\b{part_of}\b")
_BY_AGE = pattern(r"\b{by_age}")
_AGE = "age structure"
_OF_ONESELF = pattern(r"\b{of_oneself}\b")
_IDLE_WORDS, _OF_A_TOPIC, _SAME_AGAIN = map(words, ("idle_words", "of_a_topic", "same_again_words"))


class FollowUps:
    """``analyzer``: of the language of the questions; ``catalog``: the data, for countries that only it has."""

    def __init__(self, analyzer: Analyzer, catalog: Catalog) -> None:
        self._analyzer = analyzer
        self._catalog = catalog

    def by_rule(self, query: str, history: Sequence[Message], scope: Scope) -> str:
        """The question with what it needs of the last few questions; itself, where it needs nothing.

        A country or year is exchanged where only that is new ("and in Ethiopia?"), else words are carried over.
        """
        if is_small_talk(query) or self._is_of_oneself(query):
            return query
        before: list[str] = []  # each with what it needed of those before it
        for asked in [*self._latest(history), query]:
            before.append(self._continued(asked, before, scope) if before else _CHANGES_TOPIC.sub("", asked))
        return before[-1] if len(before) > 1 else query

    def _latest(self, history: Sequence[Message]) -> list[str]:
        """The questions that matter, oldest first; the first of them is one by itself, if there is such a one."""
        said = [message.content[:LONGEST] for message in history if message.role == "user"]
        asked = [t for t in said if self._words(t) and not is_small_talk(t) and not self._is_of_oneself(t)]
        first = max(len(asked) - TURNS, 0)
        while first and len(asked) - first < MOST_TURNS and self._goes_on(asked[first]):
            first -= 1
        return asked[first:]

    def _goes_on(self, query: str) -> bool:
        """Whether a question says so itself: by how it begins, by a word that points back, or by a bare name."""
        reading = read_names(query, self._catalog)
        says = _LEADS_ON.match(query) or POINTS_BACK.search(query) or reading.countries or find_years(query)
        return bool(says) and self.is_elliptic(query)

    def _meant(self, query: str, before: Sequence[str]) -> str:
        """The question before; for "Compare both", with the names of all that asked the same of others.

        What was asked of the same country in between ("and its death rate?") does not end that.
        """
        last = read_names(before[-1], self._catalog)
        means_several = _SEVERAL.search(query) or _WHICH_ONE.match(query)
        is_of_others = read_names(query, self._catalog).countries and not COMPARING.search(query)
        if len(last.about) != 1 or not means_several or is_of_others:
            return before[-1]
        names = {name.keys: before[-1][name.start : name.end] for name in last.about}
        goes_on = _TOGETHER.search(query) is not None or _WHICH_ONE.match(query) is not None
        later, of_later = before[-1], last
        for earlier in reversed(before[:-1]):
            reading = read_names(earlier, self._catalog)
            is_same = {name.keys for name in reading.about} == {name.keys for name in of_later.about}
            topics = [self._words(remove_names(text, of.about)) for text, of in ((earlier, reading), (later, of_later))]
            if topics[0] != topics[1] and not (is_same and goes_on):
                break
            names |= {name.keys: earlier[name.start : name.end] for name in reading.about if name.keys not in names}
            later, of_later = earlier, reading
        several = " and ".join(list(reversed(names.values()))[-2 if _PAIR.search(query) else 0 :])
        return (
            exchange_names(several, read_names(several, self._catalog), before[-1], self._catalog, self._words)
            or before[-1]
        )

    def _continued(self, query: str, earlier: Sequence[str], scope: Scope) -> str:
        if _ANSWER_AGAIN.match(query):
            return _with(earlier[-1], [query.strip(" ?.!")])
        asked = _CHANGES_TOPIC.sub("", query)
        is_new, query = asked != query, asked or query
        before = self._meant(query, earlier)
        reading = read_names(query, self._catalog)
        if self.is_elliptic(query) or (is_new and not reading.about):
            other = self._exchanged(query, reading, before)
            other = other or self._on_another_topic(query, reading, before, scope)
            if other or not is_new:
                return other or self._carried(query, reading, before, scope)
        is_of_all = reading.countries or scope.get(COUNTRY) or _ALL_COUNTRIES.search(OF_A_COUNTRY.sub(" ", query))
        if is_of_all or not self._catalog.values(COUNTRY) or not read_names(before, self._catalog).about:
            return query  # it is complete, and the conversation has no country that it lacks
        return _with(query, self._names(query, reading, before, scope))

    def _exchanged(self, query: str, reading: Reading, before: str) -> str:
        compares = COMPARING.search(query) is not None
        return "" if compares else exchange_names(query, reading, before, self._catalog, self._new_words)

    def _on_another_topic(self, query: str, reading: Reading, before: str, scope: Scope) -> str:
        """What is asked of the earlier question's countries and years instead of its own topic; "" = nothing else."""
        earlier = read_names(before, self._catalog)
        if not (earlier.about or earlier.editions or scope.get(COUNTRY)):
            return ""  # the topic is all that the conversation is about
        names = self._names(query, reading, before, scope)
        of_country = is_of_country(query, earlier.about, self._words)
        if _COMPLETE.match(_without_lead(query)):
            return _with(query, names) if is_of_figure(query) or of_country else ""
        is_compared = COMPARES.search(before) is not None and len(reading.about) != 1
        asked = new_topic(query, self._words)
        if not asked or not (of_country or FIGURE.search(asked) or FIGURE.search(before)):
            return ""  # "deaths?" after a flood: of which, has to be said
        asked = f"compare {asked}" if is_compared else asked
        for name in names:
            asked = add_name(asked, name)
        return as_sentence(asked)

    def _names(self, query: str, reading: Reading, before: str, scope: Scope) -> list[str]:
        """The earlier question's countries, figures' years and editions that the later one and the scope leave open.

        The year of a figure goes on to another figure, and to what a report of that year may say.
        """
        earlier, known = read_names(before, self._catalog), self._catalog.values(YEAR)
        countries = [] if reading.about or scope.get(COUNTRY) else compared_countries(earlier)
        years = [] if reading.figure_years or scope.get(YEAR) else earlier.figure_years
        if not FIGURE.search(query):
            years = [named for named in years if any(map(named.condition.matches, known))]
        editions = [] if reading.editions or scope.get(YEAR) else earlier.editions
        said = list_in_words(name_in_words(before, name, usual=True) for name in countries)
        figures = list_in_words(years_in_words(before, year) for year in years)
        reports = edition_in_words([years_in_words(before, year) for year in editions]) if editions else ""
        return [name for name in (said, figures, reports) if name]

    def is_elliptic(self, query: str) -> bool:
        """Whether words are missing that only a conversation can give."""
        reading = read_names(query, self._catalog)
        rest = _without_lead(query)
        complete = _COMPLETE.match(rest) is not None
        if self._says_only_names(query, reading):
            return True
        if reading.about and (complete or (rest == query and len(self._words(query)) > 1)):
            return False
        if rest != query or POINTS_BACK.search(query) or _WHICH_ONE.match(query):
            return True
        words = self._words(_COMMAND.sub("", query))
        if _PART_OF.search(query) and all(map(is_dependent, words)) and not FIGURE.search(query):
            return True
        return len(words) <= (0 if complete else FEW) or all(word.lower() in _OF_A_TOPIC for word in words)

    def _is_of_oneself(self, query: str) -> bool:
        """Whether it asks nothing of reports on countries: "How do I bake bread?"; about manuals that may be a
        follow-up.
        """
        is_asked = _OF_ONESELF.search(query) is not None and not POINTS_BACK.search(query)
        return is_asked and bool(self._catalog.values(COUNTRY))

    def _says_only_names(self, query: str, reading: Reading) -> bool:
        """Whether there is nothing beside names, but that they are compared: "How does Mali compare?"."""
        named: list[Named] = [*reading.countries, *find_years(query)]
        return bool(named) and not self._new_words(COMPARING.sub(" ", unnamed(query, named)))

    def is_same_question(self, written: str, ruled: str) -> bool:
        """Whether a text is a question about the same countries, years and editions as the rule's."""
        asks = written.rstrip().endswith(_MARKS) or _COMPLETE.match(written) is not None
        return asks and self._named_in(written) == self._named_in(ruled)

    def _named_in(self, text: str) -> list[set[tuple[object, ...]]]:
        reading = read_names(text, self._catalog)
        groups = (reading.countries, compared_countries(reading))
        found: list[set[tuple[object, ...]]] = [{country.keys for country in group} for group in groups]
        return found + [{(y.gte, y.lte) for y in years} for years in (reading.editions, reading.figure_years)]

    def _carried(self, query: str, reading: Reading, before: str, scope: Scope) -> str:
        """The question, and behind it the words of the earlier one that it does not have, and its names."""
        earlier = read_names(before, self._catalog)
        is_other_side = COMPARING.search(query) is not None
        open_names = Reading() if is_other_side else replace(reading, about=reading.countries)
        dropped: list[Named] = [*compared_countries(earlier), *earlier.figure_years, *earlier.editions]
        kept = [country for country in earlier.countries if country not in dropped]
        known = set(self._analyzer.terms(f"{query} report edition" if earlier.editions else query))
        words: list[str] = []
        for word in self._units(before, kept, dropped):
            terms = self._analyzer.terms(word)
            if not known.issuperset(terms):
                known.update(terms)
                words.append(word)
        by_age = [_AGE] if words and _PART_OF.search(query) and _BY_AGE.search(query) else []
        topic = " ".join([*words[:MOST_WORDS], *by_age])
        return _with(query, [*filter(None, [topic]), *self._names(query, open_names, before, scope)])

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
                relation = RELATION.search(text[: name.start])
                units.append((relation[0] if relation else "") + text[name.start : name.end])
                done = name.end
            elif self._words(match[0]):
                units.append(_POSSESSIVE.sub("", match[0]))
        return units

    def _words(self, text: str) -> list[str]:
        """Words with a meaning of their own, in text order."""
        words = (_POSSESSIVE.sub("", match[0]) for match in _WORD.finditer(text))
        return [word for word in words if word.lower() not in _IDLE_WORDS and self._analyzer.terms(word)]

    def _new_words(self, text: str) -> list[str]:
        """The words that ask for something else than was asked before."""
        return [word for word in self._words(text) if word.lower() not in _SAME_AGAIN]


def _without_lead(query: str) -> str:
    """The message behind all the words that lead to it: "ok, and"."""
    while lead := _LEADS_ON.match(query):
        query = query[lead.end() :]
    return query


def _with(query: str, words: Sequence[str]) -> str:
    """The message with words of an earlier one, in brackets: no rule takes them for a sentence of their own."""
    carried = " ".join([*words[:1], *map(placed, words[1:])])
    ended = f"{query.rstrip(' ?!.')}?"  # names behind a full stop would be a sentence of their own
    return f"{ended} ({carried})" if carried else query

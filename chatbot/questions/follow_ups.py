"""Follow-up questions by rule: what a message leaves out is what the conversation is
about.

A message has slots: countries, a thing and years. A slot that it fills replaces the
conversation's, one that it leaves open is filled from there: names alone are put into
the last question ("and Mali?"), a thing of its own gets the countries and years
("inflation?"), and words that name none of their own get the thing too ("and for
women?").
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ..domain import Message, Scope
from ..domain.chat import FIGURE_YEAR, Cited, EarlierField
from ..domain.protocols import Catalog
from ..domain.scope import (
    Condition,
    Named,
    NamedCountry,
    NamedDocument,
    NamedYears,
    Reading,
    Value,
    Values,
)
from ..domain.tables import Texts
from ..language.analysis import Analyzer
from ..language.countries import usual_name
from .english import number_of, pattern, words
from .kinds import (
    asks_meaning,
    asks_over_years,
    asks_what_is_here,
    asks_what_it_is_about,
    has_words,
    lacks_thing,
    read_request,
    series_words,
    small_talk,
    without_greeting,
)
from .reading import (
    ARTICLE,
    COUNTRY,
    NAME,
    YEAR,
    add_name,
    as_sentence,
    edition_in_words,
    list_in_words,
    name_in_words,
    placed,
    read_names,
    remove_names,
    tidy,
    values_of,
)
from .sides import COMPARES, DOCUMENT, compared_countries

NamesAThing = Callable[[str, Sequence[str]], bool]
"""Whether words name something that reports have, and no part of what the last answer
cited (its headings).
"""
HasFigure = Callable[[Sequence[str]], bool]
"""Whether the headings that the last answer cited have a figure that countries can be
compared by.
"""
MAX_CHARACTERS = 1000
"""Characters of an earlier question."""
MAX_THING_WORDS = 16
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_COMPLETE = pattern(
    r"^\W*(?:(?:and|but|so|or|then|ok|please)\W+)*(?:{wh}|{auxiliary}|{tell})\b"
)
_TELL_ABOUT = pattern(r"^\W*(?:please\W+)?{tell}\b.*\babout\b")
_THING_BEFORE = pattern(
    r"\b(?:{thing_before}|it\b(?! (?:have|export|import|produce|border)\b))"
)
"""Speaks of something named before that is no country."""
_PART_BEFORE = pattern(r"\bof (?:{thing_before}|it|them)\b")
"""Asks for a part of it: "How much of that is paved?"."""
_THEIRS = pattern(r"\b(?:{nameless}|(?:do|does|did|has|have) it)\b")
"""Speaks of a country named before."""
_IT_DID = pattern(r"\b(?:do|does|did|has|have) it\b")
_MANY_WORDS = re.compile(r"(?:\w[\w'’-]*\W+){8}")
"""A pronoun behind so many words means one of them."""
_OF_ALL = pattern(r"\b{of_all_countries}\b")
_OF_SEVERAL = pattern(
    r"\b{of_several}\b|\b{more_or_less}\b|^\W*(?:compare|contrast|rank)\W+(?:them|these|those)?\W*$"
)
_OF_ONE = re.compile(r"^\W*(?:and\W+)?its\b", re.IGNORECASE)
"""Speaks of the last of several countries: "its lowest point?"."""
_COUNTRY_NOUN = pattern(r"\W*{countries}\b")
_MORE = pattern(r"\b{more_or_less}\b")
_OF_THE_LIBRARY = pattern(
    r"\b(?:(?:{edition_noun}|document|file)s|here|(?:can|could|may) i"
    r"|you (?:know|cover|have|hold|contain)|library|database|knowledge base)\b"
)
"""Asks of everything that is here, whatever was talked about."""
_AMONG = re.compile(r"\b(?:among|of) (?:them|these)\b", re.IGNORECASE)
_WHICH = re.compile(r"\bwhich\b", re.IGNORECASE)
_EXTREME = pattern(r"\b(?:{superlative}|bottom)\b")
_END_OR_YEAR = pattern("{superlative}|years?|when")
_AVERAGE = pattern("{average}")
_NO_MEASURE = pattern(
    r"{superlative}|{average}|{altogether}|{countries}|{number}|bottom|\d+"
)
"""Words of a question for a figure that do not say which one."""
_IN_A_PLACE = pattern(
    r"\b(?:in|at|near)\s+(?:the\s+)?(?!{no_places}\b)(?-i:[A-ZÀ-Þ][a-zß-ÿ]{2,})"
)
"""Names a place behind a preposition, by its capital."""
_YEARS_FROM = pattern(
    r"\b(?:(?:(?:the|an?)\s+)?year|(?P<count>{number})\s+years?)"
    r"\s+(?:before|earlier|prior|(?P<later>later|after))\b(?:\s+that\b)?"
)
_NOT = pattern(r"\bnot\s+$")
_RELATED = pattern(r"\b(?:from|with|to|by|against|than)\s+(?:the\s+)?$")
_BEFORE_YEARS = pattern(r"(?:,\s*|\s*\b(?:in|for|of|during|by|as of)\s+(?:the\s+)?)$")
_COUNTERPARTS = (
    ("export", "import"),
    ("male", "female"),
    ("urban", "rural"),
    ("birth", "death"),
)
_FORM_WORDS, _IDLE_WORDS, _AGAIN_WORDS = map(
    words, ("form_words", "idle_words", "neutral_words")
)


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The topic of a conversation: the last question in full, with its ``countries``.

    ``together``: the countries of which the same was asked one after the other, those
    of the last question included.
    """

    reading: Reading
    countries: Texts
    together: Texts
    cited: Cited


class FollowUps:
    """``analyzer``: of the language of the questions; ``catalog``: the data, for
    countries that only it has.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        catalog: Catalog,
        names_a_thing: NamesAThing,
        has_figure: HasFigure,
    ) -> None:
        self._analyzer = analyzer
        self.catalog = catalog
        self._names_a_thing = names_a_thing
        self._has_figure = has_figure

    def by_rule(
        self,
        query: str,
        history: Sequence[Message],
        scope: Scope,
        *,
        without: Collection[EarlierField] = (),
    ) -> str:
        """Return the question with what it needs of the conversation; itself, where it
        needs nothing. ``without``: what it does not take over.
        """
        state: ConversationState | None = None
        for message in self._questions(history):
            full = message.standalone or self._completed(
                message.content[:MAX_CHARACTERS], state, scope
            )
            state = self._after(full, state, message.cited, scope)
        if state is None or _is_aside(query):
            return query
        if asks_meaning(query) and not _points_at(query):
            # A word that nobody knows is none of what was talked about.
            return query
        if without:
            state = self._reduced(state, without)
        return self._completed(query, state, scope)

    def from_earlier(self, query: str, full: str, scope: Scope) -> Scope:
        """Return what ``full``, the completed question, names beyond the ``query``: its
        fields are those of `EarlierField`. What a person chose is not from earlier.
        """
        if full == query:
            return Scope()
        own = read_names(query, self.catalog)
        whole = read_names(full, self.catalog)
        conditions: dict[str, Condition] = {}
        own_keys = {key for country in own.countries for key in country.keys}
        countries = compared_countries(whole) or whole.about
        names: list[Value] = []
        for country in countries:
            if not own_keys.isdisjoint(country.keys):
                continue
            values = values_of([country], self.catalog)
            if values:
                names += values
            else:
                names.append(usual_name(country.keys[0]))
        if names:
            conditions[COUNTRY] = Values(tuple(dict.fromkeys(names)))
        # "Two years earlier" says its year itself.
        if not _YEARS_FROM.search(query):
            editions = _years_beyond(whole.editions, own.every_year)
            if editions:
                conditions[YEAR] = editions
            figure_years = _years_beyond(whole.figure_years, own.every_year)
            if figure_years:
                conditions[FIGURE_YEAR] = figure_years
        if whole.document is not None and own.document is None:
            conditions[DOCUMENT] = Values(whole.document.names)
        return Scope.of(conditions).beyond(scope)

    def _reduced(
        self, state: ConversationState, without: Collection[EarlierField]
    ) -> ConversationState:
        """Return the topic of a conversation without names of these kinds."""
        reading = state.reading
        names: list[Named | NamedDocument] = []
        if FIGURE_YEAR in without:
            names += reading.figure_years
        if YEAR in without:
            names += reading.editions
        if DOCUMENT in without and reading.document is not None:
            names.append(reading.document)
        if COUNTRY in without:
            names += compared_countries(reading) or reading.countries
            state = replace(
                state,
                countries=(),
                together=(),
                cited=replace(state.cited, countries=()),
            )
        if not names:
            return state
        text = as_sentence(remove_names(reading.text, names))
        return replace(state, reading=read_names(text, self.catalog))

    def is_elliptic(self, query: str) -> bool:
        """Return whether words are missing that only a conversation can give."""
        reading = read_names(query, self.catalog)
        is_whole = _COMPLETE.match(query) is not None and not _points_at(query)
        return not self._telling(reading) or not (
            is_whole or self._is_complete(reading)
        )

    def own_words(self, query: str) -> list[str]:
        """Return the words of a message that ask for something: no names, and none
        that only ask again, or for the average or an end of what was talked about.
        """
        words = []
        for word in self._telling(read_names(query, self.catalog)):
            if not (_EXTREME.fullmatch(word) or _AVERAGE.fullmatch(word)):
                words.append(word)
        return words

    def could_stand_alone(self, query: str) -> bool:
        """Return whether a message may ask something without its conversation: it is a
        question in form, names a country, or has many words, and points to nothing that
        was said.
        """
        if points_back(query):
            return False
        rest = self._telling(read_names(query, self.catalog))
        if _COMPLETE.match(query) or read_names(query, self.catalog).countries:
            return bool(rest)
        return len(rest) > 2

    def asks_of_all(self, query: str) -> bool:
        """Return whether a message ranks or filters all countries: with their number
        ("top five"), or with a word for all of them.
        """
        reading = read_names(query, self.catalog)
        words = self._telling(reading)
        if reading.countries:
            return False
        if all(map(_EXTREME.fullmatch, words)):
            return False
        request = read_request(reading, countries=0)
        if request.kind == "filter":
            return _WHICH.search(query) is not None
        if request.kind != "ranking":
            return False
        if request.most > 1:
            return True
        return self.names_all(query)

    def names_all(self, query: str) -> bool:
        """Return whether a message has a word for all countries."""
        return _OF_ALL.search(query) is not None

    def _questions(self, history: Sequence[Message]) -> list[Message]:
        """The questions that matter, oldest first, each with what the answer to it
        cited.
        """
        questions: list[Message] = []
        for message in history:
            if (
                message.role == "user"
                and not _is_aside(message.content)
                and (message.standalone or not lacks_thing(message.content))
            ):
                questions.append(message)
            elif message.role == "assistant" and questions and message.cited != Cited():
                questions[-1] = replace(questions[-1], cited=message.cited)
        # The last questions say what is talked about.
        return questions[-12:]

    def _after(
        self, full: str, before: ConversationState | None, cited: Cited, scope: Scope
    ) -> ConversationState:
        """The state after a question and its answer, which tells the country where the
        question named none.
        """
        reading = read_names(full, self.catalog)
        if (
            not reading.countries
            and len(cited.countries) == 1
            and not scope.get(COUNTRY)
            and not _OF_ALL.search(full)
        ):
            reading = read_names(add_name(full, cited.countries[0]), self.catalog)
        countries = tuple(
            _in_words(reading, compared_countries(reading) or reading.countries)
        )
        together = countries
        if before is not None:
            same = self._telling(reading) == self._telling(before.reading)
            if same or set(countries) <= set(before.together):
                together = tuple(dict.fromkeys([*before.together, *countries]))
        return ConversationState(reading, countries, together, cited)

    def _completed(
        self, query: str, state: ConversationState | None, scope: Scope
    ) -> str:
        if state is None or self._asks_about_names(query):
            return query
        message = self._with_counted_years(query, state)
        series = series_words(message)
        without_series = message.replace(series, " ", 1) if series else message
        reading = read_names(without_series, self.catalog, scope)
        telling = self._telling(reading)
        if telling and self._says_form(reading):
            return _with(state.reading.text, [message.strip(" ?.!")])
        full = self._varied(reading, telling, state)
        if full:
            return full
        if not telling and (reading.countries or reading.every_year or series):
            return self._with_names_of(reading, series, state)
        return self._filled(read_names(message, self.catalog, scope), state, scope)

    def _varied(
        self, reading: Reading, telling: Sequence[str], state: ConversationState
    ) -> str:
        """Return the last question from its other end, with its counterpart, of another
        group or as a comparison; "" where a message asks for none of these.
        """
        full = _end_of_series(reading, telling, state)
        full = full or self._turned(reading, telling, state)
        full = full or self._averaged(reading, telling, state)
        full = full or _counterpart(telling, state)
        if not full and reading.groups and not telling:
            full = _regrouped(reading, state.reading)
        return full or self._compared(reading, telling, state)

    def _turned(
        self, reading: Reading, rest: Sequence[str], state: ConversationState
    ) -> str:
        """Return the ranking of the last question from the end that a message names
        ("and the lowest?"), or a ranking of what it asked for; "" where a message asks
        for something else. The message itself where nothing was talked about that
        countries can be compared by.
        """
        if reading.countries:
            return ""
        if reading.every_year:
            return ""
        end = _EXTREME.search(reading.text)
        full = state.reading.text
        before = _EXTREME.search(full)
        if end is None:
            return ""
        if any(not _EXTREME.fullmatch(word) for word in rest):
            return ""
        end_word = end[0].lower()
        if before is None and not self._is_measured(state):
            return reading.text
        if before is None:
            return _ranked(end_word, self._measured(state), state)
        if before[0].lower().startswith("rank"):
            question = full.rstrip(" ?.!")
            return f"{question}, {end_word} first?"
        beginning = full[: before.start()]
        topic = full[before.end() :]
        return f"{beginning}{end_word}{topic}"

    def _averaged(
        self, reading: Reading, rest: Sequence[str], state: ConversationState
    ) -> str:
        """Return the question for the average of what was asked for, of the countries
        that were talked about; of all where that was one, or a ranking. "" where a
        message asks for something else, the message itself where nothing was talked
        about that has an average.
        """
        if reading.names or not rest:
            return ""
        if any(not _AVERAGE.fullmatch(word) for word in rest):
            return ""
        if series_words(state.reading.text):
            # An average over years is none of countries.
            return ""
        is_ranked = _EXTREME.search(state.reading.text) is not None
        if not is_ranked and not self._is_measured(state):
            return reading.text
        thing = self._measured(state)
        if not thing:
            return ""
        question = f"What is the {rest[0].lower()} {thing}"
        together = state.together
        if len(together) > 1:
            return f"{question} of {list_in_words(together)} together?"
        of_all = "of all countries"
        for group in state.reading.groups:
            of_all = f"of all countries in {group.group.name}"
        years = [placed(year) for year in _years_in_words(state.reading.every_year)]
        return f"{' '.join([question, of_all, *years])}?"

    def _is_measured(self, state: ConversationState) -> bool:
        """Return whether the last question asked for something that has figures; also
        where nobody knows what its answer cited.
        """
        headings = state.cited.headings
        return not headings or self._has_figure(headings)

    def _measured(self, state: ConversationState) -> str:
        """Return the words of the last question for the figure that it asked for."""
        named = {text for group in state.reading.groups for text in group.text.split()}
        words = []
        for word in self._thing("", state).split():
            if word not in named and not _NO_MEASURE.fullmatch(word):
                words.append(word)
        return " ".join(words)

    def _asks_about_names(self, query: str) -> bool:
        """Return whether a message asks for an overview of what it names itself."""
        if not _TELL_ABOUT.match(query):
            return False
        names = read_names(query, self.catalog).countries
        return asks_what_it_is_about(query, names)

    def _says_form(self, reading: Reading) -> bool:
        """Return whether a message only says in what form the answer should be."""
        words = self._telling(Reading(reading.text))
        return _FORM_WORDS.issuperset(word.lower() for word in words)

    def _with_names_of(
        self, reading: Reading, series: str, state: ConversationState
    ) -> str:
        """Return the last question with the names of a message, and with its words for
        a ``series`` in place of a year.
        """
        full = self._exchanged(reading, state)
        if not series:
            return full
        if not reading.figure_years:
            for year in reversed(read_names(full, self.catalog).figure_years):
                before = _BEFORE_YEARS.sub("", full[: year.start]).rstrip()
                full = f"{before}{full[year.end :]}"
        question = full.rstrip(" ?.!")
        return f"{question} {series}?"

    def _filled(self, reading: Reading, state: ConversationState, scope: Scope) -> str:
        """The message with what the conversation has for the slots that it leaves
        open.
        """
        message = reading.text
        chosen = scope.get(COUNTRY)
        names = self._names(reading, state, scope)
        is_sentence = _COMPLETE.match(message) is not None
        complete = self._is_complete(reading)
        has_country = self._may_be_of_country(state, chosen)
        is_part = _PART_BEFORE.search(message) is not None
        if has_country and not (complete or is_part):
            # Else the topic is all that it can be about.
            words = " ".join(
                word for word in self._telling(reading) if not _MORE.fullmatch(word)
            )
            complete = self._names_a_thing(words, state.cited.headings)
        if not has_country and is_part:
            # "How many of them" are of what was counted before.
            complete = False
        if not complete:
            return _with(message, [self._thing(message, state), *names])
        of_several = len(state.together) > 1
        has_country = has_country and not _has_own_subject(reading, of_several)
        if not has_country or (chosen and is_sentence):
            return message
        return (
            _with(message, names)
            if is_sentence
            else as_sentence(reduce(add_name, names, message))
        )

    def _may_be_of_country(
        self, state: ConversationState, chosen: Condition | None
    ) -> bool:
        countries = state.countries or state.cited.countries or chosen
        return bool(countries) and bool(self.catalog.values(COUNTRY))

    def _with_counted_years(self, message: str, state: ConversationState) -> str:
        """The message with the year that it counts from the last one of the
        conversation ("two years earlier").
        """
        named = state.reading.every_year
        counted = _YEARS_FROM.search(message)
        if counted is None or not named:
            return message
        years = number_of(counted["count"] or "") or 1
        year = named[-1].gte + (years if counted["later"] else -years)
        return f"{message[: counted.start()]}{year}{message[counted.end() :]}"

    def _is_complete(self, reading: Reading) -> bool:
        """Return whether a message itself says what it asks for, judged by its form."""
        rest = [word for word in self._telling(reading) if not _MORE.fullmatch(word)]
        if _points_at(reading.text):
            return False
        if _COMPLETE.match(reading.text):
            return (
                len(rest) > 1
                or bool(reading.about)
                or _THEIRS.search(reading.text) is not None
            )
        # So few words of a message that is no sentence do not make a question.
        return len(rest) > (1 if reading.about else 3)

    def _compared(
        self, reading: Reading, rest: Sequence[str], state: ConversationState
    ) -> str:
        """The comparison that a message without a thing of its own asks for; "" where
        it asks for none.
        """
        others = [
            word
            for word in rest
            if not (COMPARES.search(word) or _MORE.fullmatch(word))
        ]
        if reading.countries or reading.every_year:
            if others or not _asks_to_compare(reading.text):
                return ""
            countries = [*state.countries, *_in_words(reading)]
            years = [*state.reading.every_year, *reading.every_year]
            return self._sentence("compare", state, countries, years)
        return self._compared_together(reading.text, state, is_bare=not others)

    def _compared_together(
        self, message: str, state: ConversationState, *, is_bare: bool
    ) -> str:
        """Return the comparison of the countries that were asked about one after the
        other; "" where a message does not mean them. ``is_bare``: it names no thing.
        """
        if len(state.together) < 2 or not _OF_SEVERAL.search(message):
            return ""
        if _OF_ONE.search(message):
            return ""
        years = state.reading.every_year
        if is_bare:
            return self._sentence("compare", state, state.together, years)
        if _OF_ALL.search(message) and not _THEIRS.search(message):
            return ""
        return _with(message, [list_in_words(state.together), *_years_in_words(years)])

    def _sentence(
        self,
        lead: str,
        state: ConversationState,
        countries: Sequence[str],
        years: Sequence[NamedYears],
    ) -> str:
        names = filter(None, [list_in_words(countries), *_years_in_words(years)])
        return as_sentence(reduce(add_name, names, f"{lead} {self._thing('', state)}"))

    def _names(
        self, reading: Reading, state: ConversationState, scope: Scope
    ) -> list[str]:
        """The countries and years of the conversation that a message and the chosen
        scope leave open.
        """
        message = reading.text
        countries = Texts()
        if (
            not reading.about
            and not scope.get(COUNTRY)
            and (_THEIRS.search(message) or not _OF_ALL.search(message))
        ):
            countries = state.countries or state.cited.countries[:1]
        years = (
            [] if reading.every_year or scope.get(YEAR) else state.reading.every_year
        )
        if _COMPLETE.match(
            message
        ):  # another question, of which only a report of that year may say something
            report_years = self.catalog.values(YEAR)
            years = [
                named
                for named in years
                if any(map(named.condition.matches, report_years))
            ]
        return [
            name for name in (list_in_words(countries), *_years_in_words(years)) if name
        ]

    def _thing(self, message: str, state: ConversationState) -> str:
        """The words of the last question that say what it asks for, without those that
        the message has.
        """
        seen = set(self._analyzer.terms(message))
        words = list[str]()
        reading = state.reading
        for word in self._words(
            remove_names(reading.text, [*reading.countries, *reading.every_year])
        ):
            terms = self._analyzer.terms(word)
            if (
                word.lower() not in _IDLE_WORDS
                and not COMPARES.fullmatch(word)
                and not seen.issuperset(terms)
            ):
                seen.update(terms)
                words.append(word)
        dropped = compared_countries(reading)
        others = [
            country.text for country in reading.countries if country not in dropped
        ]
        return " ".join([*words, *others][:MAX_THING_WORDS])

    def _exchanged(self, reading: Reading, state: ConversationState) -> str:
        """The last question with the names of the message in the place of its own."""
        full = state.reading.text
        countries = [
            country
            for country in reading.countries
            if not _NOT.search(reading.text[: country.start])
        ]
        if countries:
            full = self._with_countries(reading, countries, state)
        for years in (reading.editions, reading.figure_years):
            if years:
                full = self._with_years(full, years)
        return full

    def _with_countries(
        self,
        reading: Reading,
        countries: Sequence[NamedCountry],
        state: ConversationState,
    ) -> str:
        """The last question with these countries of a message in the place of its
        own.
        """
        before = state.reading
        old: Sequence[NamedCountry] = compared_countries(before) or before.countries
        names = _in_words(reading, countries)
        passing = [country for country in before.countries if country not in old]
        if passing and _RELATED.search(reading.text[: countries[0].start]):
            # "Imports from France", "and from Germany?".
            return self._replaced(passing, list_in_words(names), state)
        old_keys = {key for country in old for key in country.keys}
        # Otherwise the others are left out.
        is_new = any(not old_keys.issuperset(country.keys) for country in countries)
        if len(old) > 1 and is_new and len(countries) == len(reading.countries):
            names = [*_in_words(before, old), *names]
        return self._replaced(old, list_in_words(names), state)

    def _with_years(self, full: str, years: Sequence[NamedYears]) -> str:
        reading = read_names(full, self.catalog)
        of_report = years[0].of_report
        old = (
            reading.editions if of_report else reading.figure_years or reading.editions
        )
        compares = len(old) > 1 and COMPARES.search(full) is not None
        words = [named.words for named in (*(old if compares else ()), *years)]
        new = list_in_words(words)
        if not old:
            return add_name(full, edition_in_words(words) if of_report else new)
        before = full[: old[0].start]
        after = full[old[-1].end :]
        if not full[old[0].end - 1].isdigit():  # "the latest report"
            return f"{before}{new} report{after}"
        before = (
            f"{_BEFORE_YEARS.sub('', before).rstrip()} "
            if placed(new) == new
            else before
        )  # "since 2019"
        return f"{before}{new}{after}"

    def _replaced(
        self, old: Sequence[NamedCountry], new: str, state: ConversationState
    ) -> str:
        full = state.reading.text
        if not old:
            return add_name(full, new)
        start = old[0].start
        end = old[-1].end
        if self._words(
            remove_names(full[:end], old)[start:]
        ):  # they stand apart: "higher in Kenya than in Mali"
            return self._sentence(
                "compare" if len(old) > 1 else "",
                state,
                [new],
                state.reading.every_year,
            )
        return f"{ARTICLE.sub('', full[:start])}{new}{full[end:]}"

    def _telling(self, reading: Reading) -> list[str]:
        """The words that ask for something: no names, and none that only ask again."""
        names: list[Named] = [
            *reading.countries,
            *reading.every_year,
            *reading.groups,
        ]
        rest = remove_names(reading.text, names)
        return [
            word
            for word in self._words(rest)
            if word.lower() not in _IDLE_WORDS | _AGAIN_WORDS
        ]

    def _words(self, text: str) -> list[str]:
        return [word for word in _WORD.findall(text) if self._analyzer.terms(word)]


def _asks_to_compare(message: str) -> bool:
    if COMPARES.search(message):
        return True
    return bool(_MORE.search(message) and _COMPLETE.match(message))


def _is_aside(text: str) -> bool:
    """Return whether a message has nothing to do with what is talked about: a greeting,
    or a question about the library.
    """
    if small_talk(text) or not has_words(text):
        return True
    text = without_greeting(text)
    return asks_what_is_here(text) and _OF_THE_LIBRARY.search(text) is not None


def _has_own_subject(reading: Reading, of_several: bool) -> bool:
    """Return whether a complete question says what it is about: a country, a report,
    all countries, or another place. ``of_several``: countries were talked about, which
    "who has the most of them?" means.
    """
    if reading.about or reading.document:
        return True
    message = reading.text
    if not of_several and _AMONG.search(message) and _OF_ALL.search(message):
        return True
    it = _IT_DID.search(message)
    if it is not None and NAME.search(message[: it.start()]):
        # "What was the Tigray war about and how did it end?"
        return True
    if _THEIRS.search(message):
        return False
    if _OF_ALL.search(message):
        return True
    if not _COMPLETE.match(message):
        return False
    return _IN_A_PLACE.search(message) is not None


def _regrouped(reading: Reading, before: Reading) -> str:
    """Return the question before with the group of countries of a message that names
    nothing else, instead of its own group or countries: "And in Asia?".
    """
    group = reading.groups[-1]
    words = reading.text[group.start : group.end]
    text = before.text
    named: list[Named] = [*before.groups, *before.countries]
    named.sort(key=lambda name: -name.start)
    for number, name in enumerate(named):
        # "African country" becomes "country in Asia".
        is_adjective = _COUNTRY_NOUN.match(text, name.end) is not None
        is_last = number == len(named) - 1
        instead = words if is_last and not is_adjective else ""
        text = f"{text[: name.start]}{instead}{text[name.end :]}"
    return text if words in text else add_name(tidy(text), words)


def _ranked(end: str, thing: str, state: ConversationState) -> str:
    """Return which of the countries that were talked about, of all where that was one,
    has most or least of the ``thing`` that was asked for.
    """
    if not thing:
        return ""
    which = "Which country"
    if len(state.together) > 1:
        which = f"Which of {list_in_words(state.together)}"
    years = _years_in_words(state.reading.every_year)
    words = [which, "has the", end, thing]
    words += [placed(year) for year in years]
    return f"{' '.join(words)}?"


def _end_of_series(
    reading: Reading, rest: Sequence[str], state: ConversationState
) -> str:
    """Return the last question, which was for a series, for the year that has most or
    least of it ("and the lowest?"); "" where a message asks for something else.
    """
    end = _EXTREME.search(reading.text)
    is_series = len(state.together) < 2 and asks_over_years(state.reading)
    if end is None or not is_series or reading.names:
        return ""
    if any(not _END_OR_YEAR.fullmatch(word) for word in rest):
        return ""
    question = state.reading.text.partition(": in which year")[0].rstrip(" ?.!")
    return f"{question}: in which year {end[0].lower()}?"


def _counterpart(rest: Sequence[str], state: ConversationState) -> str:
    """Return the last question with the counterpart that a message names by one word:
    "And imports?" after "What does it export?"; "" for others.
    """
    if len(rest) != 1:
        return ""
    question = state.reading.text
    for first, second in _COUNTERPARTS:
        for word, other in ((first, second), (second, first)):
            form = re.compile(rf"\b{other}(?=s|ed|ing|\b)", re.IGNORECASE)
            is_named = re.fullmatch(rf"{word}(?:s|ed|ing)?", rest[0], re.IGNORECASE)
            if is_named and form.search(question):
                return form.sub(word, question)
    return ""


def points_back(message: str) -> bool:
    """Return whether a message speaks of a thing or a country that was named before
    it.
    """
    return _points_at(message, _THEIRS) or _points_at(message)


def _points_at(message: str, form: re.Pattern[str] = _THING_BEFORE) -> bool:
    """Return whether a message speaks of a thing that was named before it, and not
    earlier in itself ("How did Napoleon lose his throne?"). ``form``: the words that
    do.
    """
    match = form.search(message)
    if match is None:
        return False
    before = message[: match.start()]
    if NAME.search(before):
        return False
    return _MANY_WORDS.search(before) is None


def _years_beyond(
    years: Sequence[NamedYears], own: Sequence[NamedYears]
) -> Condition | None:
    """Return the years that a question does not name itself; None = none."""
    own_conditions = [named.condition for named in own]
    conditions: list[Condition] = []
    for named in years:
        if named.condition in own_conditions:
            continue
        conditions.append(named.condition)
    if len(conditions) == 1:
        return conditions[0]
    values: list[Value] = []
    for named in years:
        if named.condition not in conditions:
            continue
        if named.ends:
            values += named.ends
        else:
            values.append(named.gte)
    if not values:
        return None
    return Values(tuple(dict.fromkeys(values)))


def _in_words(
    reading: Reading, countries: Sequence[NamedCountry] | None = None
) -> list[str]:
    """Countries of a reading by their usual names; None = all of them."""
    return [
        name_in_words(reading.text, country, usual=True)
        for country in countries or reading.countries
    ]


def _years_in_words(years: Sequence[NamedYears]) -> list[str]:
    """The years of figures and those of editions, each as a list in words."""
    figures = list_in_words(named.words for named in years if not named.of_report)
    reports = [named.words for named in years if named.of_report]
    return [*filter(None, [figures]), *([edition_in_words(reports)] if reports else [])]


def _with(question: str, names: Sequence[str]) -> str:
    """The question with more words in brackets: no rule takes them for a sentence of
    their own.
    """
    names = [name for name in names if name]
    carried = " ".join([*names[:1], *map(placed, names[1:])])
    return f"{question.rstrip(' ?!.')}? ({carried})" if carried else question

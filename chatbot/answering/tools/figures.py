"""Asks the table of figures: series, comparisons, rankings, filters, counts and
averages; one figure as a sentence.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from ...checking.wording import cited_numbers
from ...domain import Chunk, Context, Passage, ReportedFigure, Scope, SearchHit
from ...domain.errors import SearchEngineError
from ...domain.figure_query import (
    FigureAnswer,
    FigureQuery,
    FigureSource,
    FigureTable,
)
from ...domain.figures import GlossaryEntry, indicator_name
from ...domain.formulas import read_formula
from ...domain.protocols import Catalog, Passages
from ...domain.scope import Condition, Range, Reading, Values
from ...language.analysis import LETTERS_PATTERN, WORD_PATTERN
from ...language.countries import name_in
from ...language.country_names import country_key
from ...language.detection import analyzer_for
from ...language.local_figures import local_text
from ...language.markdown import escape_markdown
from ...language.periods import month_names
from ...language.reported_figures import dated_text, figures_of, year_of
from ...language.table_words import also_written, is_total, with_base_forms
from ...language.units import PERCENT, convert, is_convertible
from ...language.words import ENGLISH, Say, spoken
from ...questions.computations import asked_label, quality_asked
from ...questions.counted import says_nothing
from ...questions.kinds import (
    NUMBER_WORDS,
    OF_ALL,
    WORDS_OF_PLACE,
    Bound,
    Request,
    asks_for_person,
    from_large_end,
    is_wish,
    measure_named,
    measure_of_place,
    read_request,
    thing_asked,
    topic_of_figures,
    without_countries_asked_for,
    without_measure,
)
from ...questions.nested import bound_of_named
from ...questions.operations import (
    Operation,
    dropped_operations,
    read_course,
    read_operation,
    read_units,
    says_only_sizes,
    unmet_words,
)
from ...questions.reading import (
    COUNTRY,
    NAME,
    NEUTRAL_WORDS,
    SHARE_WORDS,
    YEAR,
    editions,
    in_a_sentence,
    is_plural,
    list_in_words,
    remove_names,
    values_of,
)
from ...questions.sides import (
    MAX_PARTS,
    MIN_SIDES,
    asks_several,
    by_comparison,
    others_named,
    sub_questions,
)
from ...questions.telling_words import telling_words
from ...questions.word_sets import read_word_set
from ...search.coverage import names_outside
from ...search.subjects import reports_of_groups, with_article
from ...search.unused_words import UnusedWords
from ..answer_card import card_of
from ..asked_figures import AskedNames
from ..asked_words import AskedWords, FoundTables, RowFigures
from ..figure_premises import FigurePremises, words_of
from ..figure_queries import FigureQueries, named_pair
from ..figure_questions import FigureQuestions, steps_of, verdict
from ..figure_sentences import (
    in_words,
    numbered,
    over_years,
    side_by_side,
    subject_asked,
)
from ..figure_steps import in_unit
from ..figure_tables import FigureTables, IndicatorFigures
from ..figure_words import MOST_COLUMNS, Rendered, lacking, render_table
from ..people_shares import WORDS_FOR_BASES
from ..table_rows import AskedFigures, RowReader
from ..turn import Turn
from ..word_sets import WordSets, synonyms_of
from .sheets import SheetTool

_WHAT_AND_WHEN = attrgetter("subject", "indicator", "unit", "year", "edition")


@dataclass(frozen=True, slots=True)
class FigureTool:
    """Compiles figures for a question, and puts them into words."""

    tables: FigureTables
    store: Passages
    catalog: Catalog
    glossary: Callable[[], Sequence[GlossaryEntry]]
    language: str
    """The language of the reports."""

    @property
    def queries(self) -> FigureQueries:
        """Runs queries."""
        return FigureQueries(self.tables, self.catalog, self.glossary)

    def compute(self, turn: Turn) -> Rendered | None:
        """Return what a question wants computed of figures: a difference, a ratio, a
        change, another unit, which of two is more. None where it wants none of these,
        or does not surely say of which figures.
        """
        reading = turn.reading
        if turn.is_foreign or asks_several(reading):
            return None
        _, about = self.asked_for(turn)
        keys = {country_key(country) for country in about}
        # Other countries say what is measured: "the border with Russia".
        named = [one for one in reading.countries if not keys.isdisjoint(one.keys)]
        reading = replace(reading, countries=tuple(named))
        scope = turn.question.scope
        questions = FigureQuestions(self.queries, turn.analyzer.terms)
        operation = read_operation(reading, subjects=len(about))
        derived = questions.derived_terms(operation.topics)
        is_wanted = operation.wanted or (about and derived)
        if not is_wanted:
            return None
        found = questions.answer(operation, reading, about, scope, turn.request)
        computed = self._found(operation, found, derived, turn)
        if computed is None and operation.wanted == "count":
            return self._share_of_others(questions, operation, about, turn)
        return computed

    def _found(
        self,
        operation: Operation,
        found: tuple[FigureQuery, FigureTable] | None,
        derived: Sequence[str],
        turn: Turn,
    ) -> Rendered | None:
        """Return what was found for an operation in words; None where something is
        missing in it, or it is about others.
        """
        if found is None:
            return None
        query, table = found
        if not table.chunk_ids or table.missing:
            return None
        if names_outside(others_named(turn.reading), query.indicators):
            # The length of all borders is not that of the one with Russia.
            return None
        return self._computed(operation, query, table, derived, turn)

    def _computed(
        self,
        operation: Operation,
        query: FigureQuery,
        table: FigureTable,
        derived: Sequence[str],
        turn: Turn,
    ) -> Rendered | None:
        """Put what was computed into words; None where it counts the people of another
        share than that of the question.
        """
        shown = self._local(table, turn.say)
        text = in_words(query, shown, turn.say)
        if operation.wanted == "verdict":
            text = verdict(operation, shown, turn.say)
        rendered = render_table(table, text, turn.say)
        if rendered is None:
            return None
        things = (*rendered.things, *derived, *_parts_of_formulas(query))
        if operation.wanted == "share":
            # Age groups are shares of it.
            things = (*things, "population")
        is_share_of_all = operation.wanted == "count" or not operation.wanted
        if is_share_of_all and self._asks_more(turn, things, rendered):
            return None
        return replace(rendered, things=things)

    def _asks_more(self, turn: Turn, things: Sequence[str], rendered: Rendered) -> bool:
        """Return whether a question that counts people has a word for more than a share
        of all of a country: those in its camps, those who were reached.
        """
        words = UnusedWords(turn.judge)
        return bool(words.unsaid(turn.reading, things, rendered.text))

    def _share_of_others(
        self,
        questions: FigureQuestions,
        operation: Operation,
        about: Sequence[str],
        turn: Turn,
    ) -> Rendered | None:
        """Return the share of other people than all that a question means which counts
        them, and whose share it is; None where it means none.
        """
        scope = turn.question.scope
        found = questions.share_of_others(operation, about, scope, turn.request)
        if found is None:
            return None
        query, table, base = found
        if not table.chunk_ids or table.missing:
            return None
        text = turn.say("This is a share, not one of all inhabitants.")
        if base:
            text = turn.say(
                "This is a share of {people}.", people=turn.say(WORDS_FOR_BASES[base])
            )
        none = turn.say("The reports give no number of people.")
        stated = in_words(query, self._local(table, turn.say), turn.say)
        rendered = render_table(table, f"{stated} {text} {none}", turn.say)
        if rendered is None or self._asks_more(turn, query.indicators, rendered):
            return None
        return rendered

    def first_of(self, phrase: str, turn: Turn) -> tuple[str, str] | None:
        """Return the country that words of a question mean by its rank ("the smallest
        country"), and the sentence that says so; None where they surely mean none.
        Raises EmbeddingError.
        """
        text = f"Which is {phrase}?"
        question = turn.question
        reading = turn.read(text)
        scope = question.scope
        groups = [named.group for named in reading.groups]
        if groups:
            of_groups = reports_of_groups(groups, scope, self.catalog, turn.say)
            scope = scope.having(COUNTRY, of_groups.countries)
        inner = replace(question, standalone=text, reading=reading, scope=scope)
        with turn.asking(inner):
            request, about = self.asked_for(turn)
            if request.kind != "ranking" or about:
                return None
            table = self._of_request(turn, request, about)
            if table is None or table.card is None or table.unused:
                return None
            words = UnusedWords(turn.judge)
            if words.of_figures(reading, table.things, table.text):
                return None
        sentence, _, _ = table.text.partition(" [")
        return table.card.figures[0].subject, f"{sentence}."

    def _check_premise(self, turn: Turn) -> Rendered | None:
        """Return how a figure went of which the question says that it rose or fell, of
        one country; None where that is right, or not surely asked.
        """
        course = read_course(turn.reading)
        _, about = self.asked_for(turn)
        if turn.is_foreign or course is None or len(about) != 1:
            return None
        premises = FigurePremises(self.queries, turn.analyzer.terms)
        found = premises.check(
            course,
            turn.reading,
            about[0],
            turn.question.scope,
            turn.say,
            turn.request,
        )
        if found:
            return render_table(*found, turn.say)
        return None

    def passages_of(self, rendered: Rendered) -> list[SearchHit]:
        """Return the passages that a table cites, in the order of their numbers; none
        where one is no longer there.
        """
        by_id = {chunk.id: chunk for chunk in self.store.get(rendered.chunk_ids)}
        if any(chunk_id not in by_id for chunk_id in rendered.chunk_ids):
            return []
        return [
            SearchHit(by_id[chunk_id], found_by=("figures",))
            for chunk_id in rendered.chunk_ids
        ]

    def answer(self, query: FigureQuery, scope: Scope, say: Say) -> FigureAnswer:
        """Return the table of a query over the figures in a scope, in words of
        ``say``, with its passages. Raises as `FigureQueries.run` does.
        """
        table = self.queries.run(query, scope)
        by_id = {chunk.id: chunk for chunk in self.store.get(table.chunk_ids)}
        citations = tuple(
            FigureSource(number, by_id[chunk_id])
            for number, chunk_id in enumerate(table.chunk_ids, 1)
            if chunk_id in by_id
        )
        return FigureAnswer(in_words(query, table, say), table, citations)

    def named_in(self, query: str, turn: Turn, scope: Scope) -> str:
        """Return the indicator that a query for passages surely names, by all words of
        its part, or of its heading where most countries have it; "" where it names
        none. Raises EmbeddingError.
        """
        pair = self.tables.meant(query, scope, turn.request)
        if pair is None:
            return ""
        heading, label = pair
        terms = turn.analyzer.terms
        said = set(terms(query))
        countries = len(self.catalog.values(COUNTRY, scope))
        is_of_most = 2 * self.tables.indicators(scope)[heading][label] > countries
        is_part_named = bool(label) and said.issuperset(terms(label))
        is_named = is_of_most and said.issuperset(terms(heading))
        if is_part_named or is_named:
            return indicator_name(heading, label)
        return ""

    def newer_parts(self, query: FigureQuery, scope: Scope) -> list[str]:
        """Return the parts of the indicators of a query that have newer figures than
        the indicator itself, which names no part: a heading may have its old total
        beside new shares.
        """
        pairs = self.tables.indicators(scope)
        newer: list[str] = []
        for name in query.indicators:
            pair = named_pair(name, pairs)
            if pair is None or ":" in name or query.years or query.editions:
                continue
            heading, own = pair
            years = self._newest_years(heading, own, query, scope)
            for label in pairs[heading]:
                others = self._newest_years(heading, label, query, scope)
                later = [one for one in years if others.get(one, 0) > years[one]]
                if label != own and 2 * len(later) > len(years):
                    newer.append(indicator_name(heading, label))
                    break
        return newer

    def _newest_years(
        self, heading: str, label: str, query: FigureQuery, scope: Scope
    ) -> dict[str, int]:
        pairs = self.tables.indicators(scope)
        measured = self.tables.measured(heading, label, pairs, scope, query.subjects)
        years: dict[str, int] = {}
        for subject in measured.by_subject:
            newest = measured.newest(subject)
            if newest is not None:
                years[subject] = year_of(newest)
        return years

    def asked_for(self, turn: Turn) -> tuple[Request, list[str]]:
        """Return what kind of request the question is, and the countries it is about,
        as the data has them.
        """
        chosen = turn.question.scope.get(COUNTRY)
        reading = turn.reading
        about: list[str] = []
        if reading.countries:
            named = values_of(by_comparison(reading), self.catalog)
            about = [
                str(value) for value in named if chosen is None or chosen.matches(value)
            ]
        of_one = isinstance(chosen, Values) and len(chosen.values) == 1
        request = read_request(reading, countries=len(about) or int(of_one))
        bound = bound_of_named(reading, about[0]) if about else None
        if bound is None:
            return request, about
        # "Which countries are larger than Chad?" is about all.
        return replace(request, kind="filter", bound=bound), []

    def compile(self, turn: Turn, *, compares: bool = False) -> Rendered | None:
        """Return the table that the question asks for; None where it asks for none, or
        nothing surely meant is in it. ``compares``: it names others, without reports,
        to compare with.
        """
        at_once = self.of_table(turn) or self.compute(turn)
        at_once = at_once or self._check_premise(turn) or self._own_place(turn)
        if at_once is not None:
            return at_once
        request, about = self.asked_for(turn)
        if compares and request.kind == "value":
            request = replace(request, kind="comparison")
        if turn.is_foreign:
            # Which indicator of all reports it means would be a guess.
            return self._of_rows(turn, request)
        if asks_several(turn.reading):
            return None
        if request.kind == "value" and not about:
            return self._of_nobody(turn, request)
        of_two_names = self._of_two_names(turn, request, about)
        if of_two_names is not None:
            return of_two_names
        return self._of_request(turn, request, about)

    def _own_place(self, turn: Turn) -> Rendered | None:
        """Return the place of one country among all in the scope that a person chose;
        None where that is not asked, or no figures are surely meant.
        """
        reading = turn.reading
        measure = measure_of_place(remove_names(reading.text, reading.names))
        if not measure:
            return None
        _, about = self.asked_for(turn)
        if len(about) != 1:
            return None
        question = turn.question
        chosen = question.scope
        if question.chosen_scope is not None:
            chosen = question.chosen_scope
        with turn.asking(replace(question, scope=chosen)):
            wanted = Request("ranking", measure, of=about[0])
            table = self._of_request(turn, wanted, ())
        if table is not None:
            table.things = (*table.things, WORDS_OF_PLACE)
        return table

    def _of_nobody(self, turn: Turn, request: Request) -> Rendered | None:
        """Return what a question asks that names no country. Where it is just the name
        of an indicator, it may mean each of several: their figures are listed.
        """
        if self._is_of_several(turn):
            of_all = self._of_request(turn, replace(request, kind="ranking"), ())
            card = None if of_all is None else of_all.card
            if card is not None and self._is_name_of(
                card.figures[0], request.topic, turn
            ):
                return of_all
        return self._of_request(turn, request, ())

    def _is_of_several(self, turn: Turn) -> bool:
        """Return whether the reports in scope are of several countries, which nobody
        has chosen.
        """
        scope = turn.question.scope
        return (
            scope.get(COUNTRY) is None and len(self.catalog.values(COUNTRY, scope)) > 1
        )

    def _is_name_of(self, figure: ReportedFigure, topic: str, turn: Turn) -> bool:
        """Return whether a topic is a name of a figure's indicator, and has no word
        more.
        """
        terms = turn.analyzer.terms
        labels = {figure.label}
        if is_total(figure.label):
            labels.add("")
        names = [indicator_name(figure.heading, label) for label in labels]
        for entry in self.glossary():
            if entry.heading == figure.heading and entry.label in labels:
                names += [entry.term, *entry.other_words]
        return any(set(terms(name)) == set(terms(topic)) for name in names)

    def _of_request(
        self, turn: Turn, request: Request, about: Sequence[str]
    ) -> Rendered | None:
        """Return the table of a request: of words, else of computed, else of reported
        figures. ``about``: the countries that the question is about, none = all.
        """
        scope = turn.question.scope
        subjects = about or [str(name) for name in self.catalog.values(COUNTRY, scope)]
        scope = scope.having(COUNTRY, subjects)
        years = editions(scope, self.catalog)
        newest = scope.having(YEAR, years[-1:]) if years else None
        found = self._of_words(turn, request, newest, scope, subjects)
        if found is not None:
            return found
        is_of_others = turn.reading.about and not (about or request.of)
        if request.kind in {"value", "prose"} or is_of_others:
            return None
        computed = self._computed_of_all(turn, request, scope)
        if computed is not None:
            return computed
        reported = self._of_reported(turn, request, about, subjects, newest)
        if request.kind != "ranking":
            return reported
        listed = replace(request, kind="filter")
        return self._listed_instead(turn, reported, listed, newest, scope, subjects)

    def _listed_instead(
        self,
        turn: Turn,
        ranked: Rendered | None,
        request: Request,
        newest: Scope | None,
        scope: Scope,
        subjects: Sequence[str],
    ) -> Rendered | None:
        """Return a list by words where it uses all of a question and the ranking does
        not: "Which countries list gems among their top exports?" ranks nothing.
        """
        if self._uses_all_words(turn, ranked):
            return ranked
        found = self._of_words(turn, request, newest, scope, subjects)
        if found is None or found.unused:
            return ranked
        return found

    def _uses_all_words(self, turn: Turn, table: Rendered | None) -> bool:
        """Return whether a table answers each word of the question that says something.
        A name that it leaves out, as "the Balkans", is what no list has.
        """
        if table is None:
            return False
        unused = UnusedWords(turn.judge)
        words = unused.of_figures(turn.reading, table.things, table.text)
        return not words or NAME.search(f"the {words[0]}") is not None

    def _of_reported(
        self,
        turn: Turn,
        request: Request,
        about: Sequence[str],
        subjects: Sequence[str],
        newest: Scope | None,
    ) -> Rendered | None:
        """Return what a request asks of figures as they are reported, else of the rows
        of one table. ``about``: the countries that the question is about, none = all;
        ``subjects``: those in scope.
        """
        scope = turn.question.scope.having(COUNTRY, subjects)
        measured: Sequence[IndicatorFigures] = ()
        for topic in self._topics(turn, request, scope):
            measured = measured or self.tables.compile(
                topic,
                scope,
                about,
                turn.request,
                newest=newest,
                of_all=request.kind in OF_ALL,
            )
        measured = self._in_unit_of_bound(request, measured, scope, subjects)
        if not measured or self._is_of_others(turn, request, measured[0]):
            return self._of_rows(turn, request)
        stated = [named.condition for named in turn.reading.figure_years]
        rendered = self.render(request, measured, about, stated, turn.say)
        if rendered is None:
            return self._of_rows(turn, request)
        rendered.unused = _dropped(turn.reading, request, about, rendered)
        if request.bound is not None:
            rendered.things = (*rendered.things, request.bound.unit, NUMBER_WORDS)
        if request.kind == "comparison":
            own = [one.heading for one in measured]
            also = self._also_named(turn, own, scope, about, rendered.cite)
            rendered.text = f"{rendered.text}\n\n{also}".strip()
        if request.kind == "series":
            early = self._without_early_years(turn, rendered)
            rendered.text = f"{rendered.text}\n\n{early}".strip()
        if request.kind in OF_ALL:
            first = measured[0]
            whole = self.tables.comparable(subjects, first, scope)
            without = lacking(whole, first.by_subject, turn.say)
            rendered.text = f"{rendered.text}\n\n{without}".strip()
        return rendered

    def _without_early_years(self, turn: Turn, table: Rendered) -> str:
        """Return a sentence that a series begins later than the question asks; "" where
        it does not.
        """
        asked = [named.gte for named in turn.reading.figure_years]
        if table.card is None or not asked:
            return ""
        first = min(map(year_of, table.card.figures))
        if first <= min(asked):
            return ""
        return turn.say("No figures from before {year} were found.", year=first)

    def _topics(self, turn: Turn, request: Request, scope: Scope) -> Sequence[str]:
        """Return the ways to say what a request measures, the first one that means an
        indicator counts.
        """
        bound = request.bound
        if bound is not None and bound.of and says_nothing(request.topic):
            # "Larger than Chad" is the area.
            return [heading for heading, _ in self.tables.sizes(scope)[:1]]
        topics = [request.topic]
        if request.kind != "ranking" or request.of:
            return topics
        if request.lowest:
            # "Largest area" is nearer to urban areas than "area" is.
            topics.insert(0, self._from_other_end(request.topic))
        text = turn.reading.text
        named = measure_named(text)
        others = without_countries_asked_for(without_measure(topic_of_figures(text)))
        if named and says_only_sizes(others):
            # "The largest country by population": largest alone is the area.
            return [named]
        if without_countries_asked_for(text) != text:
            # A name that no indicator has, as "the Balkans", is said to be unused.
            nameless = NAME.sub(" ", request.topic)
            topics += [nameless, topic_of_figures(nameless)]
        return topics

    def _from_other_end(self, topic: str) -> str:
        """Return the topic of a ranking as it is asked for from the large end: "lowest
        10%" is nearer to "lowest population" than the population is. Itself where the
        glossary has a word for it, as "lowest point".
        """
        turned = from_large_end(topic)
        words = f" {' '.join(LETTERS_PATTERN.findall(topic))} "
        words_turned = f" {' '.join(LETTERS_PATTERN.findall(turned))} "
        for entry in self.glossary():
            for phrase in (entry.term, *entry.other_words):
                # "Smallest" alone is the area, not the smallest population.
                is_turned = f" {phrase} " not in words_turned
                if " " in phrase and f" {phrase} " in words and is_turned:
                    return topic
        return turned

    def _in_unit_of_bound(
        self,
        request: Request,
        measured: Sequence[IndicatorFigures],
        scope: Scope,
        subjects: Sequence[str],
    ) -> Sequence[IndicatorFigures]:
        """Return the indicator that is measured as the bound of a request is, else the
        size: "smaller than 1,000 square kilometres" names no other.
        """
        bound = request.bound
        if bound is None or not bound.unit:
            return measured
        pairs = self.tables.indicators(scope)
        candidates = [*measured]
        for pair in self.tables.sizes(scope):
            candidates.append(self.tables.measured(*pair, pairs, scope, subjects))
        for one in candidates:
            if all(is_convertible(unit, bound.unit) for unit in one.units):
                return [one]
        return ()

    def _also_named(
        self,
        turn: Turn,
        own: Sequence[str],
        scope: Scope,
        subjects: Sequence[str],
        cite: Callable[[ReportedFigure], str],
    ) -> str:
        """Return a sentence about the indicators other than ``own`` that the glossary
        calls by the words of a question, as "GDP" names two, with the figures of
        ``subjects`` that ``cite`` puts into words; "" without any.
        """
        words = " ".join(telling_words(turn.reading))
        called = self._called(words)
        if set(own).isdisjoint(called):
            # The words of most questions name nothing else: nothing more is read.
            return ""
        here = self.tables.indicators(scope)
        years = [named.condition for named in turn.reading.figure_years]
        names = []
        for heading in called:
            is_own = any(self.tables.are_alike(heading, asked) for asked in own)
            if heading not in here or is_own:
                continue
            other = self.tables.measured(heading, "", here, scope, subjects)
            shown = _with_figures(other, subjects, years, cite, turn.say)
            local = self._local_name(heading, turn.say)
            name = local or in_a_sentence(heading)
            names.append(f"{escape_markdown(name)}{shown}")
        if not names:
            return ""
        text = "“{words}” can also mean {names}."
        if spoken(turn.say) != ENGLISH:
            # The words of the question that were read are English.
            text = "Another measure: {names}."
        return turn.say(text, words=escape_markdown(words), names=", ".join(names))

    def _called(self, words: str) -> list[str]:
        """Return the headings that the glossary calls just by these words."""
        name = words.casefold()
        called: list[str] = []
        for entry in self.glossary():
            phrases = (entry.term, *entry.other_words)
            if entry.label or all(phrase.casefold() != name for phrase in phrases):
                continue
            called.append(entry.heading)
        return called

    def _of_two_names(
        self, turn: Turn, request: Request, about: Sequence[str]
    ) -> Rendered | None:
        """Return the figure of one country whose name in the question two indicators
        have, as "GDP": that which a comparison takes, and the other one beside it. None
        of other questions.
        """
        if request.kind != "value" or len(about) != 1 or turn.has_model:
            return None
        here = self.tables.indicators(turn.question.scope)
        called = self._called(" ".join(telling_words(turn.reading)))
        if len([heading for heading in called if heading in here]) < MIN_SIDES:
            return None
        scope = turn.question.scope.having(COUNTRY, about)
        measured = self.tables.compile(request.topic, scope, about, turn.request)
        if not measured or measured[0].heading not in called:
            return None
        years = [named.condition for named in turn.reading.figure_years]
        query, table = self.queries.tabulate(measured[:1], about, years)
        text = in_words(query, self._local(table, turn.say), turn.say)
        rendered = render_table(table, text, turn.say)
        if rendered is None:
            return None
        own = [measured[0].heading]
        also = self._also_named(turn, own, scope, about, rendered.cite)
        return replace(rendered, text=f"{rendered.text}\n\n{also}".strip())

    def _of_words(
        self,
        turn: Turn,
        request: Request,
        newest: Scope | None,
        scope: Scope,
        subjects: Sequence[str],
    ) -> Rendered | None:
        """Return the countries whose reports state what is asked; None where no set of
        countries is asked for, or none is found.
        """
        asked = read_word_set(turn.reading, request)
        if asked is None:
            return None
        terms = turn.analyzer.terms
        synonyms = synonyms_of(self.glossary(), terms)
        sets = WordSets(self.store, self.tables.index, terms, synonyms)
        # Where no index of words answers, the search by vectors may.
        with suppress(SearchEngineError):
            found = sets.answer(asked, newest or scope, scope, subjects, turn.say)
            if found is not None:
                telling = telling_words(turn.reading)
                found.unused = tuple(word for word in found.unused if word in telling)
                return found
        return None

    def _computed_of_all(
        self, turn: Turn, request: Request, scope: Scope
    ) -> Rendered | None:
        """Return what a request about all countries asks to compute of each; None where
        it asks for figures as they are reported, or is about some.
        """
        if request.kind not in OF_ALL:
            return None
        questions = FigureQuestions(self.queries, turn.analyzer.terms)
        found = questions.of_all(request, scope, turn.request)
        if found is None:
            return None
        query, table = found
        text = in_words(query, self._local(table, turn.say), turn.say)
        subject = subject_asked(query, table)
        return render_table(table, text, turn.say, subject=subject)

    def _of_rows(self, turn: Turn, request: Request) -> Rendered | None:
        """Return a ranking of the rows of one table, which may lack a few words; None
        for other requests.
        """
        if request.kind not in OF_ALL:
            return None
        return self.of_table(turn, may_lack=True)

    def _is_of_others(
        self, turn: Turn, request: Request, indicator: IndicatorFigures
    ) -> bool:
        """Return whether a ranking asks for something else than countries by the
        nearest indicator: for other things ("Which city ...?"), or for taste ("best
        beaches").
        """
        if request.kind != "ranking" or request.of:
            return False
        terms = turn.analyzer.terms
        own = set(terms(indicator.name))
        if own.isdisjoint(terms(request.topic)) and is_wish(request.topic):
            return True
        reading = turn.reading
        thing = terms(thing_asked(remove_names(reading.text, reading.names)))
        names = words_of(indicator.heading, indicator.label, self.glossary(), terms)
        return bool(thing) and names.isdisjoint(thing)

    def render(
        self,
        request: Request,
        measured: Sequence[IndicatorFigures],
        subjects: Sequence[str],
        years: Sequence[Condition],
        say: Say,
    ) -> Rendered | None:
        """Return what a request asks of these indicators; None where they have nothing
        for it. ``subjects``: those asked about, in the order of the question; none =
        all that have a figure.
        """
        if request.kind == "series":
            if len(years) == 1 and isinstance(years[0], Values):
                # One year is no series: the others are asked for, too.
                years = ()
            note = ""
            if request.last > 1 and not years:
                newest = max(one.newest_year for one in measured)
                first = newest - request.last + 1
                years = [Range(first, newest)]
                text = "The last {number} years: {first} to {last}, the newest here."
                note = say(text, number=request.last, first=first, last=newest)
            table = self.queries.over_years(measured, subjects, years)
            if not subjects and len(table.rows) > MOST_COLUMNS:
                # Nobody can read the lines of all of them.
                return None
            shown = self._local(table, say)
            told = over_years(shown, say, request.end)
            text = "\n\n".join(filter(None, [told, note]))
            return render_table(table, text, say)
        if request.kind not in OF_ALL:
            _, table = self.queries.tabulate(measured, subjects, years, same_year=True)
            shown = self._local(table, say)
            newer = _with_newer_figures(measured, shown)
            text = side_by_side(shown, say, lowest=request.lowest, newer=newer)
            return render_table(table, text, say)
        if request.bound is not None and request.bound.of:
            return self._beyond_named(request, request.bound, measured[0], years, say)
        query, table = self.queries.tabulate(measured, (), years, steps_of(request))
        text = in_words(query, self._local(table, say), say)
        if request.kind == "aggregate":
            _, table = self.queries.tabulate(measured, (), years)
            text += numbered(self._local(table, say), say)
        return render_table(table, text, say, subject=subject_asked(query, table))

    def _beyond_named(
        self,
        request: Request,
        bound: Bound,
        indicator: IndicatorFigures,
        years: Sequence[Condition],
        say: Say,
    ) -> Rendered | None:
        """Return the countries that have more, or less, than the one that a bound
        names, and the figure of that one; None where it has none.
        """
        figure = indicator.newest(bound.of, years)
        if figure is None:
            return None
        bound = replace(bound, value=figure.value, unit=figure.unit)
        steps = steps_of(replace(request, bound=bound))
        query, table = self.queries.tabulate([indicator], (), years, steps)
        text = in_words(query, self._local(table, say), say)
        rendered = render_table(table, text, say)
        if rendered is not None:
            number = rendered.number_of(figure.chunk_id)
            rendered.text += f"\n\n{self._as_sentence(figure, (), number, say)}"
        return rendered

    def _as_sentence(
        self, figure: ReportedFigure, units: Sequence[str], number: int, say: Say
    ) -> str:
        """Return a figure with its subject and name, also in the first of these units,
        as the passage of this number has it.
        """
        shown = dated_text(figure, say, as_written=True)
        if units:
            value = convert(figure.value, figure.unit, units[0])
            converted = escape_markdown(in_unit(value, units[0]))
            shown = f"{shown} = {local_text(converted, say)}"
        name = in_a_sentence(figure.heading)
        subject = figure.subject
        text = "{subject}, {name}: {figure}."
        if spoken(say) != ENGLISH:
            own_name = indicator_name(figure.heading, figure.label)
            quoted = say("“{name}”", name=own_name)
            name = self._local_name(own_name, say) or quoted
            subject = name_in(spoken(say), subject)
        elif figure.label:
            name = f"{name} ({figure.label})"
        elif not is_plural(name):
            # A label in it would jar.
            text = "In {subject}, the {name} was {figure}."
            subject = with_article(subject, say)
        return say(
            text,
            subject=escape_markdown(subject),
            name=escape_markdown(name),
            figure=f"{shown} [{number}]",
        )

    def _local(self, table: FigureTable, say: Say) -> FigureTable:
        """Return a table with the names of its countries and indicators in the language
        that is spoken.
        """
        language = spoken(say)
        if language == ENGLISH:
            return table
        rows = []
        for row in table.rows:
            subject = row.subject
            # Rows of sheets may be called as codes of countries are.
            if subject in self.catalog.values(COUNTRY):
                subject = name_in(language, subject)
            rows.append(replace(row, subject=subject))
        columns = []
        for column in table.columns:
            name = self._local_name(column.indicator, say) or column.indicator
            name = f"{name[:1].upper()}{name[1:]}"
            columns.append(replace(column, indicator=name))
        return replace(table, rows=tuple(rows), columns=tuple(columns))

    def _local_name(self, indicator: str, say: Say) -> str:
        """Return what the glossary calls an indicator in the language that is spoken;
        "" where it does not have it.
        """
        for entry in self.glossary():
            named = indicator_name(entry.heading, entry.label) or entry.term
            names = entry.translations.get(spoken(say), ())
            if named == indicator and names:
                return names[0]
        return ""

    @property
    def rows(self) -> RowReader:
        """Reads questions against the tables of documents."""
        return RowReader(self.store, self.catalog, self.tables, self.language)

    @property
    def sheets(self) -> SheetTool:
        """Computes from the rows of sheets."""
        return SheetTool(self.tables, self.store, self.rows)

    def of_table(self, turn: Turn, *, may_lack: bool = False) -> Rendered | None:
        """Return what the rows of one document's table say to a question: a cell, a
        ranking, rows beside each other, one over years. None where no table has its
        words, or a language model reads the cell in its passage. ``may_lack``: the
        table of a ranking may lack a few of them.
        """
        request, _ = self.asked_for(turn)
        reading = turn.reading
        if request.kind == "prose":
            return None
        rows = self.rows
        asked = rows.read(turn)
        try:
            if asks_for_person(reading.text):
                return self.sheets.of_person(turn, request)
            computed = None if may_lack else self.sheets.computed(turn, request)
            if computed is not None:
                return computed
            found = rows.find(turn, asked)
            told = self._told_of_sheets(turn, request, asked, found, may_lack=may_lack)
            if told is None and not may_lack:
                told = self._cell_of_table(turn, request, asked, found)
                told = told or self.sheets.of_row(turn, asked, found)
                told = told or self._row_without(turn, asked)
        except SearchEngineError:
            # The search by vectors may answer.
            return None
        tables = found.whole
        if may_lack:
            tables = found.whole or found.near
        if told is not None or not tables:
            return told
        return self._rows_of_table(turn, request, asked, tables[0])

    def _told_of_sheets(
        self,
        turn: Turn,
        request: Request,
        asked: AskedWords,
        found: FoundTables,
        *,
        may_lack: bool,
    ) -> Rendered | None:
        """Return what the rows of a sheet say together. Raises SearchEngineError."""
        counted = None if may_lack else self.sheets.counted(turn, request)
        if counted is not None and not counted.is_near:
            return counted
        return self.sheets.of_sheet(turn, asked, found, may_lack=may_lack) or counted

    def _row_without(self, turn: Turn, asked: AskedWords) -> Rendered | None:
        """Return the row that may be meant, where it has nothing of the quality that a
        question asks for.
        """
        near = self.rows.near_row(turn, asked) if asked.quality else None
        if near is None:
            return None
        chunk_id, text = near
        words = (quality_asked(turn.reading.text),)
        return Rendered(turn.say, [chunk_id], text, unused=words, is_near=True)

    def _rows_of_table(
        self, turn: Turn, request: Request, asked: AskedWords, table: RowFigures
    ) -> Rendered | None:
        """Return rows of a table ranked, counted, beside each other or over years; None
        where the question names too few.
        """
        scope = turn.question.scope
        measured, named = self.rows.of_rows(asked, table, scope)
        subjects = named[:MOST_COLUMNS]
        is_told = bool(subjects)
        if request.kind in OF_ALL and len(subjects) < 2:
            subjects = []
            is_told = len(measured.by_subject) > 1
        elif request.kind != "series":
            # "Lower Salt" is the name of a row.
            request = replace(request, kind="comparison", lowest=False)
            # "And Omar Farah?" asks for him alone.
            is_told = len(subjects) > 1 or (asked.own is not None and bool(subjects))
        if not is_told:
            return None
        years = [named_year.condition for named_year in turn.reading.figure_years]
        rendered = self.render(request, [measured], subjects, years, turn.say)
        if rendered is None:
            return None
        return replace(rendered, things=(*rendered.things, table.about))

    def _cell_of_table(
        self,
        turn: Turn,
        request: Request,
        asked: AskedWords,
        found: FoundTables,
    ) -> Rendered | None:
        """Return the one cell that a question means, for quotations. Raises
        SearchEngineError.
        """
        if turn.has_model:
            return None
        rows = self.rows
        if request.kind in OF_ALL | {"series"}:
            # "The poorest" may be the name of a row.
            every = rows.read(turn, is_of_rows=False)
            if every.words == asked.words:
                return None
            asked = every
            found = replace(rows.find(turn, every), near=[])
        cells = rows.cells(asked, found.whole + found.near)
        for table, cell in cells:
            text = rows.tell(asked, table, cell.figures, turn.say)
            first = cell.figures[0]
            is_named = asked.of_all(first.heading, first.label)
            if asked_label(turn.reading.text) is not None and not is_named:
                # "In which county ...?" asks for another cell of the row.
                return None
            line = table.line_of(first)
            # A row of "2024-04" tells of April.
            months = month_names(f"{line} {text}")
            # "Earns" asks for a salary.
            alike = f"{with_base_forms(line)} {also_written(line)}"
            told = (table.context, line, alike, months)
            unused = UnusedWords(turn.judge)
            if cell.lacking and unused.of_figures(turn.reading, told, text):
                return None
            of_chunk = figures_of(table.chunk)
            stated = [one for one in of_chunk if table.of_row(one) in cell.figures]
            card = card_of(stated) if stated else None
            rendered = Rendered(turn.say, [table.chunk.id], text, told, card)
            _add_contradictions(rendered, cells)
            return rendered
        nearest = None if cells else rows.nearest_period(turn, asked, found)
        if nearest is None:
            return None
        period, table, cell = nearest
        text = turn.say(
            "“{title}” has nothing for {month}. The nearest: {answer}",
            title=escape_markdown(table.chunk.title),
            month=escape_markdown(period),
            answer=rows.tell(asked, table, cell.figures, turn.say),
        )
        ids = [table.chunk.id]
        return Rendered(turn.say, ids, text, unused=(period,), is_near=True)

    def state(self, turn: Turn, passage: Passage, context: Context) -> str:
        """Return the one figure of a quoted passage that the question surely means, as
        a sentence, of a table with its row; else "". Of other passages every word of
        the question that says what is asked is a word of the report's or the
        glossary's names for that figure.
        """
        chunk = passage.hit.chunk
        text = turn.reading.text
        # Names of people or countries are no figure.
        asks_for_names = without_countries_asked_for(text) != text
        if asks_for_names or asks_for_person(text):
            return ""
        request, about = self.asked_for(turn)
        if request.kind != "value":
            return ""
        if chunk.statements is not None:
            return self._state_cell(turn, passage)
        if not about and self._is_of_several(turn):
            # One of them would be the answer by accident.
            return ""
        return self._state_meant(turn, passage, context)

    def _state_meant(self, turn: Turn, passage: Passage, context: Context) -> str:
        """Return the figure that the question means of a passage with labelled
        figures, as a sentence; "" if there is none of the kind that it asks for.
        """
        chunk = passage.hit.chunk
        text = turn.reading.text
        units, _ = read_units(text)
        figure = None
        if COUNTRY in chunk.metadata and chunk.heading:
            figure = self._meant(turn, chunk)
        if figure is None or not figure.value:
            # The passage of a zero says why: "0 km (landlocked)".
            return ""
        if figure.unit and "countries" in text:
            # "The neighbouring countries" are no length of borders.
            return ""
        if units and not is_convertible(figure.unit, units[0]):
            return ""
        wanted = read_operation(turn.reading, subjects=1).wanted
        if wanted == "count" and figure.unit == PERCENT:
            # A share is no number of people.
            return ""
        stated = self._as_sentence(figure, units, passage.number, turn.say)
        scope = turn.question.scope
        subjects = [figure.subject]
        cite = partial(_cited_in, context, turn.say)
        also = self._also_named(turn, [figure.heading], scope, subjects, cite)
        return f"{stated}\n\n{also}".strip()

    def converted(self, turn: Turn, quotes: str, context: Context) -> str:
        """Return quotations, and below them the one figure of the first in the unit
        that the question asks for: where a statement is emphasised, the figure of that.
        """
        operation = read_operation(turn.reading, subjects=1)
        if turn.closest_only or operation.wanted != "convert":
            return quotes
        first = cited_numbers(quotes)[:1]
        quotation = quotes.partition("“")[2].partition("”")[0]
        parts = quotation.split("**")
        if len(parts) == 3:
            quotation = parts[1]
        quoted: list[ReportedFigure] = []
        for passage in context.passages:
            if passage.number in first:
                quoted += figures_of(passage.hit.chunk)
        quoted = [figure for figure in quoted if figure.text in quotation]
        for unit in operation.units:
            figure = self._in_unit(turn, quoted, unit)
            if figure is not None:
                sentence = self._as_sentence(figure, [unit], first[0], turn.say)
                return f"{quotes}\n\n{sentence}"
        return quotes

    def _in_unit(
        self, turn: Turn, figures: Sequence[ReportedFigure], unit: str
    ) -> ReportedFigure | None:
        """Return the only figure that has a unit, else the only one of these that the
        question names, or that is the total; None where several may be meant.
        """
        meant = [one for one in figures if is_convertible(one.unit, unit)]
        if len(meant) > 1:
            asked = AskedNames(turn.reading, self.glossary(), turn.analyzer.terms)
            named = [one for one in meant if asked.has(one)]
            meant = named or [one for one in meant if not one.label]
        if len(meant) == 1:
            return meant[0]
        return None

    def _state_cell(self, turn: Turn, passage: Passage) -> str:
        """Return the cell of a quoted table that has all words of the question as a
        sentence; "" without one.
        """
        asked = self.rows.read(turn)
        table = RowFigures(passage.hit.chunk)
        for _, cell in self.rows.cells(asked, [table]):
            if not cell.lacking:
                return self.rows.tell(
                    asked, table, cell.figures, turn.say, passage.number
                )
        return ""

    def _meant(self, turn: Turn, chunk: Chunk) -> ReportedFigure | None:
        """Return the one figure of a passage that has all words of the question."""
        topic = self._words_of_topic(turn.reading)
        is_share = "%" in turn.reading.text or not topic.isdisjoint(SHARE_WORDS)
        topic -= NEUTRAL_WORDS
        topic -= SHARE_WORDS
        words_of = analyzer_for(turn.reading.text, self.language).terms
        words = set(words_of(" ".join(topic)))
        if not words:
            return None
        of_label = self._figures_named(chunk, words, words_of, is_share=is_share)
        labels = list(of_label)
        if "" in of_label:
            labels = [""]
        elif len(labels) > 1:
            labels = [one for one in labels if not words.isdisjoint(words_of(one))]
        if len(labels) != 1:
            return None
        meant = _newest(turn, of_label[labels[0]])
        if meant is None:
            return None
        asked = AskedNames(turn.reading, self.glossary(), words_of)
        is_part = bool(meant.label) and not is_total(meant.label)
        if (len(words) == 1 or is_part) and not asked.has(meant):
            # One word of a name need not mean it: "life" of a life expectancy.
            return None
        return meant

    def _figures_named(
        self,
        chunk: Chunk,
        words: set[str],
        words_of: Callable[[str], Sequence[str]],
        *,
        is_share: bool,
    ) -> dict[str, list[ReportedFigure]]:
        """Return the figures of a passage that have all these words, by their labels;
        ``is_share``: as a share of what the words say.
        """
        names = self._names_under(chunk.heading)
        of_label: dict[str, list[ReportedFigure]] = defaultdict(list)
        of_heading = set(words_of(" ".join([chunk.heading, *names[""]])))
        for figure in figures_of(chunk):
            label = figure.label
            label_words = set(words_of(" ".join([label, *names[label]])))
            base = set(words_of(" ".join(LETTERS_PATTERN.findall(figure.text))))
            if not words <= of_heading | label_words | base:
                continue
            if label and words.isdisjoint(label_words):
                continue
            if not is_share or ("%" in figure.unit and base <= words):
                of_label[label].append(figure)
        return of_label

    def _names_under(self, heading: str) -> Mapping[str, Sequence[str]]:
        """Return the glossary's words for the figures under a heading, by their
        labels; none for a label that it does not know.
        """
        names = defaultdict[str, list[str]](list)
        for entry in self.glossary():
            if entry.heading == heading:
                names[entry.label].append(entry.term)
                names[entry.label].extend(entry.other_words)
        return names

    def _words_of_topic(self, reading: Reading) -> set[str]:
        """Return the words of a question without units, and without the names of what
        it is about: not "India" of "the frontier with India".
        """
        named = []
        for name in reading.names:
            if name in reading.about or name not in reading.countries:
                named.append(name)
        _, topic = read_units(remove_names(reading.text, named))
        return set(WORD_PATTERN.findall(topic.lower()))

    def key_figures(
        self, turn: Turn, scope: Scope, subjects: Sequence[str]
    ) -> Rendered | None:
        """Return a table of the figures that say most of these subjects; None where
        they share none.
        """
        measured = self.tables.key_figures(scope, subjects, self._chapters)
        if not measured:
            return None
        return self.render(Request("comparison", ""), measured, subjects, (), turn.say)

    def _chapters(self, chunk_ids: Sequence[str]) -> Mapping[str, str]:
        return {chunk.id: chunk.chapter for chunk in self.store.get(chunk_ids)}

    def parts_of(self, turn: Turn, most: int = MAX_PARTS) -> list[str]:
        """Return the question in parts by rule: its sentences, countries and things;
        itself where it is one.
        """
        things = partial(
            self.tables.things, scope=turn.question.scope, request=turn.request
        )
        return sub_questions(turn.reading, things, most)


def _with_newer_figures(
    measured: Sequence[IndicatorFigures], table: FigureTable
) -> Sequence[str]:
    """Return the indicators of a table that have figures newer than its years."""
    newer = []
    for one, column in zip(measured, table.columns, strict=True):
        if column.year is not None and one.newest_year > column.year:
            newer.append(column.indicator)
    return newer


def _parts_of_formulas(query: FigureQuery) -> Sequence[str]:
    """Return the indicators that the formulas of a query have."""
    parts: list[str] = []
    for name in query.indicators:
        if "[" in name:
            parts += read_formula(name).names
    return parts


def _add_contradictions(
    rendered: Rendered, cells: Sequence[tuple[RowFigures, AskedFigures]]
) -> None:
    """Name what other documents give for the first of these cells, of the same time."""
    (_, first), *others = cells
    figure = first.figures[0]
    given = {figure.value: ""}
    for _, cell in others:
        other = cell.figures[0]
        if cell.lacking or other.document_id == figure.document_id:
            continue
        if _WHAT_AND_WHEN(other) == _WHAT_AND_WHEN(figure) and other.value not in given:
            given[other.value] = rendered.cite(other)
    say = rendered.say
    values = list_in_words(list(given.values())[1:], say("and"), say(", "))
    if values:
        sentence, _, row = rendered.text.partition("\n\n")
        note = say("Other reports give {values}.", values=values)
        rendered.text = f"{sentence} {note}\n\n{row}".strip()


def _dropped(
    reading: Reading, request: Request, about: Sequence[str], table: Rendered
) -> Sequence[str]:
    """Return the words of a question that ask for more than a comparison, a series or a
    ranking of figures as they are reported.
    """
    if request.kind in {"comparison", "series"}:
        if read_operation(reading, subjects=len(about)).wanted == "verdict":
            return ()
        return tuple(unmet_words(reading, table.text, subjects=len(about)))
    if request.kind in OF_ALL and request.bound is None:
        return tuple(dropped_operations(reading, " ".join(table.things)))
    return ()


def _with_figures(
    measured: IndicatorFigures,
    subjects: Sequence[str],
    years: Sequence[Condition],
    cite: Callable[[ReportedFigure], str],
    say: Say,
) -> str:
    """Return the newest figures of subjects that ``cite`` has words for, to stand
    behind a name: ": Kenya, $124 billion (2024) [3]"; "" without any.
    """
    shown = []
    for subject in subjects:
        figure = measured.newest(subject, years)
        text = cite(figure) if figure is not None else ""
        if text:
            name = name_in(spoken(say), subject)
            shown.append(f"{escape_markdown(name)}, {text}")
    if not shown:
        return ""
    return f": {'; '.join(shown)}"


def _cited_in(context: Context, say: Say, figure: ReportedFigure) -> str:
    """Return a figure with the number of its passage; "" where that is not at hand."""
    for passage in context.passages:
        if passage.hit.chunk.id == figure.chunk_id:
            return f"{dated_text(figure, say)} [{passage.number}]"
    return ""


def _newest(turn: Turn, figures: Sequence[ReportedFigure]) -> ReportedFigure | None:
    """Return the newest figure of the years that a question names, else of all; None
    where there are several.
    """
    for year in turn.reading.figure_years:
        figures = [
            figure for figure in figures if year.condition.matches(year_of(figure))
        ]
    newest = max((year_of(figure) for figure in figures), default=0)
    figures = [figure for figure in figures if year_of(figure) == newest]
    if len(figures) == 1:
        return figures[0]
    return None

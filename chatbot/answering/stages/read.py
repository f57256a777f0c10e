"""Reads a question: its language, and the countries, years and reports it names."""

from dataclasses import dataclass
from itertools import chain

from ...domain.chat import Subjects
from ...domain.protocols import Catalog
from ...domain.scope import Reading, Scope
from ...language.countries import usual_name
from ...language.detection import language_of
from ...language.words import CODES, NAMES_OF_CODES
from ...questions.nested import country_of_ranking
from ...questions.reading import values_of
from ...search.subjects import everything_asked
from ..tools.figures import FigureTool
from ..turn import Turn


@dataclass(frozen=True, slots=True)
class ReadNames:
    """The stage that reads the question, once for all that follow. A country that it
    means by its rank is read as its name.
    """

    figures: FigureTool

    def run(self, turn: Turn) -> None:
        question = turn.question
        if question.attachments:
            return
        preferred = NAMES_OF_CODES.get(question.language, "")
        language = language_of(question.query, preferred=preferred)
        code = CODES.get(language, question.language)
        turn.say.use(code)
        if not turn.is_led and not turn.is_foreign:
            self._read_ranked_country(turn)
        turn.change(language=code, reading=turn.reading)
        turn.subjects = subjects_of(turn.reading, question.scope, turn.catalog)

    def _read_ranked_country(self, turn: Turn) -> None:
        text = turn.question.search_text
        phrase = country_of_ranking(text)
        first = self.figures.first_of(phrase, turn) if phrase else None
        if first is not None:
            name, sentence = first
            turn.change(standalone=text.replace(phrase, name, 1), reading=None)
            turn.events.notes.append(sentence)


def subjects_of(reading: Reading, scope: Scope, catalog: Catalog) -> Subjects:
    """Return the countries and years that a question is about."""
    asked = everything_asked(reading, scope, catalog)
    # The countries as the data has them, else by their usual names.
    names = [
        values_of([country], catalog) or [usual_name(country.keys[0])]
        for country in asked.about
    ]
    countries = [str(name) for name in chain.from_iterable(names)]
    figure_years = [year.condition for year in reading.figure_years]
    editions = [year.condition for year in reading.editions]
    return Subjects(
        countries=tuple(dict.fromkeys(countries)),
        figure_years=tuple(dict.fromkeys(figure_years)),
        editions=tuple(dict.fromkeys(editions)),
    )

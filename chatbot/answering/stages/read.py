"""Reads a question: its language, and the countries, years and reports it names."""

from dataclasses import dataclass
from itertools import chain

from ...domain.chat import Subjects
from ...domain.protocols import Catalog
from ...domain.scope import Reading, Scope
from ...language.countries import usual_name
from ...language.detection import language_of
from ...language.words import CODES, NAMES_OF_CODES
from ...questions.reading import values_of
from ...search.subjects import everything_asked
from ..turn import Turn


@dataclass(frozen=True, slots=True)
class ReadNames:
    """The stage that reads the question, once for all that follow."""

    def run(self, turn: Turn) -> None:
        question = turn.question
        if question.attachments:
            return
        preferred = NAMES_OF_CODES.get(question.language, "")
        language = language_of(question.query, preferred=preferred)
        code = CODES.get(language, question.language)
        turn.say.use(code)
        turn.change(language=code, reading=turn.reading)
        turn.subjects = subjects_of(turn.reading, question.scope, turn.catalog)


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

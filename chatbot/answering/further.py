"""Questions to ask after an answer, from its indicator and its subject."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..domain import Chunk, Scope
from ..domain.figures import GlossaryEntry
from ..domain.protocols import Passages
from ..domain.scope import Value, Values
from ..language.words import speaking
from ..questions.reading import COUNTRY
from ..questions.sides import DOCUMENT
from ..search.further import (
    by_nearness,
    further_questions,
    is_asked_about,
    question_about,
    questions_to_document,
)
from ..search.pipeline import Retriever
from .figure_queries import named_pair
from .figure_tables import FigureTables

PASSAGES_AROUND = 40


@dataclass(frozen=True, slots=True)
class FurtherQuestions:
    """Suggests questions in a ``language``, each of which the library answers."""

    tables: FigureTables
    passages: Passages
    retriever: Retriever
    glossary: Sequence[GlossaryEntry]
    language: str

    def after(
        self, cited: Chunk, scope: Scope, indicator: str
    ) -> tuple[list[str], Scope, list[str]]:
        """Return questions after an answer that cites a passage, and the scope that
        answers them; then the countries that have a figure of its ``indicator``, those
        first that have most in common with the passage's. Raises DependencyError.
        """
        country = cited.metadata.get(COUNTRY)
        inside = scope
        near: list[str] = []
        if country is not None:
            inside = scope.and_(Scope.of({COUNTRY: Values((country,))}))
            near = self._countries_near(country, scope, indicator)
        start = max(0, cited.ordinal - PASSAGES_AROUND)
        end = cited.ordinal + PASSAGES_AROUND
        ids = [cited.sibling_id(ordinal) for ordinal in range(start, end)]
        around = self.passages.get(ids)

        def search(words: str) -> list[Chunk]:
            return self._found(words, inside)

        def ask(heading: str, about: str) -> str:
            return self._question(cited, heading, about)

        usual = self._usual_headings(scope, len(near))
        if cited.heading not in usual and self._is_alone(cited, inside):
            document = Scope.of({DOCUMENT: Values((cited.document_name,))})
            columns = self.tables.indicators(document)
            questions = questions_to_document(
                cited, around, columns, search, ask, indicator.partition(": ")[0]
            )
        else:
            questions = further_questions(
                cited,
                around,
                self.tables.index,
                usual,
                search,
                ask,
                self.tables.indicators(inside) if country is not None else (),
            )
        if not questions:
            # Nothing else is known that a report with few headings answers.
            say = speaking(self.language)
            questions = [say("What is “{title}” about?", title=cited.title)]
        return questions, inside, near

    def _is_alone(self, cited: Chunk, scope: Scope) -> bool:
        """Return whether no other report has a passage under the heading of this one:
        the headings of a country's other reports are about something else.
        """
        if not cited.heading:
            return True
        for other in self._found(f"{cited.heading} {cited.title}", scope):
            is_same = other.heading.casefold() == cited.heading.casefold()
            if is_same and other.document_id != cited.document_id:
                return False
        return True

    def _countries_near(
        self, country: Value, scope: Scope, indicator: str
    ) -> list[str]:
        pairs = self.tables.indicators(scope)
        pair = named_pair(indicator, pairs)
        if pair is None or not is_asked_about(pair[0]):
            return []
        measured = self.tables.measured(*pair, pairs, scope, ())
        return by_nearness(str(country), measured.by_subject, indicator)

    def _usual_headings(self, scope: Scope, countries: int) -> set[str]:
        """Return the headings of which more than half of so many countries have a
        figure; 0 = of those that have the most common one.
        """
        counts = {
            heading: labels.get("", 0)
            for heading, labels in self.tables.indicators(scope).items()
        }
        countries = countries or max(counts.values(), default=0)
        return {heading for heading, count in counts.items() if 2 * count > countries}

    def _found(self, words: str, scope: Scope) -> list[Chunk]:
        retrieval = self.retriever.retrieve(
            words, top_k=12, scope=scope, method="hybrid"
        )
        return [hit.chunk for hit in retrieval.hits]

    def _question(self, cited: Chunk, heading: str, about: str) -> str:
        local_name = ""
        for entry in self.glossary:
            if entry.heading == heading and not entry.label:
                names = entry.translations.get(self.language, ())
                local_name = next(iter(names), local_name)
        return question_about(
            cited.title, about or None, heading, self.language, local_name
        )

"""Says of which countries and years that a question names there is nothing."""

from dataclasses import dataclass

from ...questions.kinds import topic_of
from ...search.scope import summarise
from ...search.subjects import missing_subject
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound


@dataclass(frozen=True, slots=True)
class NothingOn:
    """Ends a question all of whose subjects are missing; else notes what is missing, to
    be said above the answer.
    """

    nothing: NothingFound

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        if question.attachments:
            return None
        reading = turn.reading
        if topic_of(question.search_text, reading):
            reading = reading.with_years_of_reports()
        missing = missing_subject(reading, question.scope, turn.catalog, turn.say)
        if missing is None:
            return None
        turn.missing = missing.text
        if not missing.everything or turn.settings.on_empty == "relax":
            return None
        scope = summarise(turn.catalog, question.scope)
        turn.events.sources((), scope)
        draft = self.nothing.from_general_knowledge(turn, scope, may_fail=True)
        if draft is not None:
            return draft
        turn.events.text(missing.text)
        return Draft(
            text=missing.text,
            scope=scope,
            is_sent=True,
            why="No report is about what it names.",
        )

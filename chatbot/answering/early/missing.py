"""Says of which countries and years that a question names there is nothing."""

from dataclasses import dataclass

from ...questions.kinds import topic_of
from ...search.scope import summarise
from ...search.subjects import Missing, missing_subject
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound


@dataclass(frozen=True, slots=True)
class NothingOn:
    """Ends a question all of whose subjects are missing. Notes what is missing, to be
    said above the answer, where something is there, or where passages may name it.
    """

    nothing: NothingFound

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        if question.attachments:
            return None
        reading = turn.reading
        is_of_library = bool(topic_of(question.search_text, reading))
        if is_of_library:
            reading = reading.with_years_of_reports()
        missing = missing_subject(reading, question.scope, turn.catalog, turn.say)
        if missing is None:
            return None
        if turn.is_led and not is_of_library:
            turn.hints.append(missing.refusal)
            return None
        is_refused = missing.everything and turn.settings.on_empty != "relax"
        if is_refused and not is_of_library and is_searched_for(missing, turn):
            turn.missing = missing.text
            turn.absent = missing
            return None
        turn.missing = missing.refusal
        if not is_refused:
            return None
        scope = summarise(turn.catalog, question.scope)
        turn.events.sources((), scope)
        draft = self.nothing.from_general_knowledge(turn, scope, may_fail=True)
        if draft is not None:
            return draft
        turn.events.text(missing.refusal)
        return Draft(
            text=missing.refusal,
            scope=scope,
            is_sent=True,
            why="No report is about what it names.",
        )


def is_searched_for(missing: Missing, turn: Turn) -> bool:
    """Return whether a question about countries without a report is searched for: where
    a passage may name them, or where a language model can say what it is not told.
    """
    if not missing.countries:
        return False
    return missing.may_be_named or (turn.has_model and not turn.is_general)

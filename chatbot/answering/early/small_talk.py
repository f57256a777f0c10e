"""Answers greetings and thanks, which ask nothing of the reports."""

from dataclasses import dataclass

from ...domain.chat import ScopeSummary
from ...language.words import counted
from ...questions.kinds import has_words, lacks_thing, small_talk
from ...search.scope import summarise
from ..turn import Draft, Turn

WHO_ANSWERS = (
    "I answer questions from the {reports} here and show the passage behind each claim."
)
WHAT_TO_ASK = (
    "Ask for a figure, a comparison, a ranking, a change over the years or a reason."
)

OF_WHAT = (
    "This does not say of which figure. Name it, as in “the lowest inflation” or “the "
    "average life expectancy”."
)


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """Says what can be asked here; nothing where a model answers such questions."""

    def run(self, turn: Turn) -> Draft | None:
        if turn.question.attachments or turn.is_general:
            return None
        asked = turn.question.search_text
        missing = self._missing(asked, turn)
        if missing:
            scope = summarise(turn.catalog, turn.question.scope)
            why = "It does not say what it asks for."
            return Draft(text=missing, scope=scope, is_answer=True, why=why)
        talk = small_talk(asked)
        if not talk:
            return None
        scope = summarise(turn.catalog, turn.question.scope)
        text = turn.say("You are welcome. What else would you like to know?")
        if talk != "thanks":
            text = f"{who_answers(turn, scope)} {turn.say(WHAT_TO_ASK)}"
        why = "It asks nothing of the reports."
        return Draft(text=text, scope=scope, is_answer=True, why=why)

    def _missing(self, asked: str, turn: Turn) -> str:
        """Return what a message lacks to be a question; "" where it lacks nothing."""
        if not has_words(asked):
            nothing = turn.say("There is no question in this message.")
            return f"{nothing} {turn.say(WHAT_TO_ASK)}"
        if lacks_thing(asked) and not turn.reading.names:
            return turn.say(OF_WHAT)
        return ""


def who_answers(turn: Turn, scope: ScopeSummary) -> str:
    """Return a sentence on what this program does with the reports of a scope."""
    reports = counted(turn.say, scope.documents, "report")
    return turn.say(WHO_ANSWERS, reports=reports)

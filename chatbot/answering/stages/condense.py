"""Completes a follow-up from its conversation into a question that stands alone: by a
model, or by rule.
"""

import re
import time
from dataclasses import dataclass, replace

from ...domain import Message
from ...domain.chat import Question, StepEvent, StepTiming
from ...domain.costs import Usage
from ...domain.errors import ChatModelError
from ...domain.protocols import ChatModel
from ...domain.request import RequestContext
from ...domain.scope import Reading
from ...language.analysis import Analyzer
from ...language.detection import language_of
from ...models.prompts import on_one_line
from ...models.replies import prose, stage_prompt
from ...models.replies.stream import Reply, complete
from ...questions.follow_ups import MAX_CHARACTERS, FollowUps
from ...questions.kinds import small_talk
from ...questions.reading import read_names
from ...search.translation import Translator
from ..answer import latest
from ..budget import EXPLORING_SHARE, PLANNING_SHARE
from ..turn import Turn

MAX_REWRITTEN_CHARACTERS = 500
"""A model that writes more has answered instead of rewriting the question."""
ANSWER_CHARACTERS_SHOWN = 600
"""Characters of each answer in the prompt: its beginning says what it was about."""
_LABEL = re.compile(
    r"^\W*(?:(?:rewritten|standalone|last)\s+)?question\s*:\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condense:
    """The stage of follow-ups.

    ``analyzer``: of the language of the questions; a rewritten one has to share a word
    with the conversation.
    """

    follow_ups: FollowUps
    chat_model: ChatModel
    analyzer: Analyzer
    translator: Translator

    def run(self, turn: Turn) -> None:
        if turn.is_led or not turn.question.history:
            return
        # Said to whoever waits, and no part of the path: every follow-up has it.
        turn.events.send(StepEvent("condense", "Reading the conversation"))
        spending = turn.limits.spending
        seconds = spending.seconds_left(PLANNING_SHARE)
        stopper = spending.stops_answer(calls=1, share=EXPLORING_SHARE)
        question = turn.question
        if not turn.has_model:
            question = self._in_english(question)
        with turn.request.within(seconds) as limited:
            condensed, steps = self.condense(
                question, limited, ask_model=turn.has_model and not stopper
            )
        spending.add(*steps)
        turn.condensed = condensed.standalone
        if turn.condensed:
            turn.change(standalone=turn.condensed)
            turn.events.earlier_scope = self.follow_ups.from_earlier(
                question.query, turn.condensed, question.scope
            )
            turn.own_words = self.follow_ups.own_words(question.query)

    def _in_english(self, question: Question) -> Question:
        """Return a message in another language and the conversation before it as
        English ones, as far as the glossary has their words: the rules are English.
        """
        history: list[Message] = []
        language = ""
        for message in question.history:
            if message.role == "user" and not message.standalone:
                language = language_of(message.content)
                reading = self._read(message.content[:MAX_CHARACTERS])
                translation = self.translator.in_english(reading, language)
                if translation is not None:
                    history.append(replace(message, content=translation.text))
                    continue
            history.append(message)
        spoken = language_of(question.query)
        if spoken != "english":
            language = spoken
        query = question.query
        if not small_talk(query):
            query = self.translator.message(self._read(query), language) or query
        return replace(question, query=query, history=tuple(history))

    def _read(self, text: str) -> Reading:
        return read_names(text, self.follow_ups.catalog)

    def condense(
        self, question: Question, request: RequestContext, *, ask_model: bool = True
    ) -> tuple[Question, tuple[StepTiming, ...]]:
        """Return the question, with ``standalone`` unless it is complete already, and
        the steps.

        The steps name who did it: `condense_model`, or `condense_rule` without a model
        or where it failed.

        ``ask_model``: whether there is budget for it.
        """
        if question.attachments and not self.follow_ups.is_elliptic(question.query):
            return question, ()
        started = time.perf_counter()
        ruled = self.follow_ups.by_rule(
            question.query,
            question.history,
            question.scope,
            without=question.without_earlier,
        )
        by_rule = StepTiming.since("condense_rule", started)
        if ruled == question.query:
            return question, ()
        if not ask_model or not self.chat_model.is_language_model:
            return replace(question, standalone=ruled), (by_rule,)
        started = time.perf_counter()
        written, usage = self._rewritten(question, request)
        by_model = StepTiming.since("condense_model", started, usage)
        if written:
            return replace(question, standalone=written), (by_model,)
        return replace(question, standalone=ruled), (by_model, by_rule)

    def _rewritten(
        self, question: Question, request: RequestContext
    ) -> tuple[str, Usage]:
        """Return the model's question, "" where it failed or wrote about something
        else.
        """
        conversation = _shown(question)
        values = {"conversation": conversation, "question": question.query}
        prompt = stage_prompt("condense", prose(), question.query, **values)
        response = Reply(prompt)
        try:
            done = complete(self.chat_model, prompt, request, response)
        except ChatModelError as error:
            return "", response.usage_of_failed(error)
        lines = [line.strip() for line in done.text.splitlines() if line.strip()]
        written = _LABEL.sub("", lines[0]).strip(" \"'`“”*") if lines else ""
        terms = set(self.analyzer.terms(f"{question.query} {conversation}"))
        shares_words = not terms.isdisjoint(self.analyzer.terms(written))
        if not shares_words or len(written) > MAX_REWRITTEN_CHARACTERS:
            written = ""
        return written, done.usage


def _shown(question: Question) -> str:
    """Return the conversation as the prompt has it."""
    shown = []
    for message in question.history:
        text = on_one_line(message.content, "conversation")
        if len(text) > ANSWER_CHARACTERS_SHOWN:
            text = f"{text[:ANSWER_CHARACTERS_SHOWN]} …"
        shown.append(replace(message, content=text))
    return "\n".join(f"{message.role}: {message.content}" for message in latest(shown))

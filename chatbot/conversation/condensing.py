"""Condensing a question and its conversation into one that stands alone: by a model, or by rule."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

from ..caches.answers import ChatModels
from ..errors import ChatModelError
from ..grounding.answer import latest
from ..model_output.stream import Reply, complete, without_thoughts
from ..prompts import on_one_line, render
from ..questions.follow_ups import FollowUps
from ..request import RequestContext
from ..schema import Context, Message, Prompt, Question, StepTiming, Usage
from ..text import Analyzer

LONGEST = 500
"""Characters of a rewritten question; a model that writes more has answered instead."""
SHOWN = 600
"""Characters of an answer that the model sees: what it was about stands at its beginning."""
_LABEL = re.compile(r"^\W*(?:(?:rewritten|standalone|last)\s+)?question\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condensed:
    """``text``: the standalone question, "" where the question is one already."""

    text: str = ""
    steps: tuple[StepTiming, ...] = ()


class Condenser:
    """``analyzer``: of the language of the questions; a rewritten one has to share a word with what was said."""

    def __init__(self, *, follow_ups: FollowUps, chat_models: ChatModels, analyzer: Analyzer) -> None:
        self._follow_ups = follow_ups
        self._chat_models = chat_models
        self._analyzer = analyzer

    def condense(self, question: Question, request: RequestContext, *, ask_model: bool = True) -> Condensed:
        """The steps name who did it: `condense_model`, or `condense_rule` without a model or where it failed.

        A model fails where it writes no question, or one about other countries or years than the rule.

        ``ask_model``: whether there is budget for it.
        """
        if question.attachments and not self._follow_ups.is_elliptic(question.query):
            return Condensed()
        started = time.perf_counter()
        ruled = self._follow_ups.by_rule(question.query, question.history, question.scope)
        by_rule = StepTiming.since("condense_rule", started)
        if ruled == question.query:
            return Condensed()
        if not ask_model or not self._chat_models.is_language_model:
            return Condensed(ruled, (by_rule,))
        started = time.perf_counter()
        written, usage = self._rewritten(question, request)
        by_model = StepTiming.since("condense_model", started, usage)
        if self._follow_ups.is_same_question(written, ruled):
            return Condensed(written, (by_model,))
        return Condensed(ruled, (by_model, by_rule))

    def _rewritten(self, question: Question, request: RequestContext) -> tuple[str, Usage]:
        """The model's words; "" where it failed or wrote about something else."""
        shown = [replace(message, content=_shortened(message.content)) for message in question.history]
        talk = "\n".join(f"{message.role}: {message.content}" for message in latest(shown))
        asked = render("condense_user", conversation=talk, question=question.query)
        messages = (Message("system", render("condense_system")), Message("user", asked))
        prompt = Prompt(messages, question.query, Context())
        response = Reply(prompt)
        try:
            done = complete(self._chat_models.of(question), prompt, request, response)
        except ChatModelError as error:
            return "", response.usage_of_failed(error)
        return self._checked(done.text, talk, question.query), done.usage

    def _checked(self, text: str, talk: str, query: str) -> str:
        lines = [line.strip() for line in without_thoughts(text).splitlines() if line.strip()]
        written = _LABEL.sub("", lines[0]).strip(" \"'`“”*") if lines else ""
        known = set(self._analyzer.terms(f"{query} {talk}"))
        shares_words = not known.isdisjoint(self._analyzer.terms(written))
        return written if shares_words and len(written) <= LONGEST else ""


def _shortened(text: str) -> str:
    text = on_one_line(text, "conversation")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"

"""A question condensed with its conversation, when it needs that: by rule, and in better words by a language model."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..caches.responses import ChatModels
from ..cancellation import Cancellation
from ..chat_models import FREE
from ..errors import ChatModelError
from ..generation.answer import latest
from ..model_output.completion import completed
from ..model_output.heard import Heard
from ..model_output.thoughts import without_thoughts
from ..prompts import render
from ..prompts.delimiters import on_one_line
from ..schema import Context, Message, Prompt, Question, StepTiming, Usage
from ..text import Analyzer
from .follow_up import FollowUps

LONGEST = 500
"""Characters of a rewritten question; a model that writes more has answered instead."""
SHOWN = 600
"""Characters of an answer that the model sees: what it was about stands at its beginning."""
_LABEL = re.compile(r"^\W*(?:(?:rewritten|standalone|last)\s+)?question\s*:\s*", re.IGNORECASE)
_ERROR = re.compile(
    r"^\s*(?:\{\s*\"error\"\s*:|(?:an? )?error\b(?:\s+\d+)?\s*[:!.]|an (?:internal )?error (?:has )?occurred)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Condensed:
    """``text``: the standalone question, "" where the question is one already."""

    text: str = ""
    steps: tuple[StepTiming, ...] = ()


class Condenser:
    def __init__(self, *, follow_ups: FollowUps, chat_models: ChatModels, analyzer: Analyzer) -> None:
        self._follow_ups = follow_ups
        self._chat_models = chat_models
        self._analyzer = analyzer

    def condense(self, question: Question, cancel: Cancellation, *, ask_model: bool = True) -> Condensed:
        """The steps name who did it: `condense_model`, or `condense_rule` without a model or where it failed.

        ``ask_model``: whether there is budget for it.
        """
        if question.attachments and not self._follow_ups.is_elliptic(question.query):
            return Condensed()
        started = time.perf_counter()
        ruled = self._follow_ups.by_rule(question.query, question.history, question.scope)
        by_rule = StepTiming.since("condense_rule", started)
        if ruled == question.query:
            return Condensed()
        if not ask_model or self._chat_models.model_id in FREE:
            return Condensed(ruled, (by_rule,))
        started = time.perf_counter()
        written, usage = self._rewritten(question, cancel)
        by_model = StepTiming.since("condense_model", started, usage)
        return Condensed(written, (by_model,)) if written else Condensed(ruled, (by_model, by_rule))

    def _rewritten(self, question: Question, cancel: Cancellation) -> tuple[str, Usage]:
        """The model's words; "" where it failed or wrote something else."""
        shown = [replace(message, content=_shortened(message.content)) for message in question.history]
        talk = "\n".join(f"{message.role}: {message.content}" for message in latest(shown))
        asked = render("condense_user", conversation=talk, question=question.query)
        messages = (Message("system", render("condense_system")), Message("user", asked))
        prompt = Prompt(messages, question.query, Context())
        heard = Heard(prompt)
        try:
            done = completed(self._chat_models.of(question), prompt, cancel, heard)
        except ChatModelError as error:
            return "", heard.usage_of_failed(error)
        return self._checked(done.text, talk, question.query), done.usage

    def _checked(self, text: str, talk: str, query: str) -> str:
        lines = [line.strip() for line in without_thoughts(text).splitlines() if line.strip()]
        written = _LABEL.sub("", lines[0]).strip(" \"'`“”*") if lines else ""
        known = set(self._analyzer.terms(f"{query} {talk}"))
        shares_words = not known.isdisjoint(self._analyzer.terms(written))
        return written if shares_words and len(written) <= LONGEST else ""


def without_errors(messages: Sequence[Message]) -> list[Message]:
    """What was really said: an error that a client shows as an answer, or an empty one, is no part of it.

    The server's own conversations hold none, a failed answer is not saved.
    """
    return [m for m in messages if m.role != "assistant" or (m.content.strip() and not _ERROR.match(m.content))]


def _shortened(text: str) -> str:
    text = on_one_line(text, "conversation")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"

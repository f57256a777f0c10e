"""Answers the questions of batches, one at a time in each process: who waits for an answer comes first."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from typing import Any

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..errors import BudgetExhaustedError, ChatbotError, IngestingError
from ..ingestion.watch import Retries, Watch, WorkLoop, heartbeat
from ..schema.access import Caller
from ..schema.jobs import BatchQuestion
from ..serialization import error_json
from ..services import Services
from ..validation import parse
from .kept_answers import without_passages
from .payloads import ChatRequest

log = logging.getLogger(__name__)
RETRIES = Retries()
IDLE_SECONDS = 2.0
BEAT_SECONDS = 2.0
MOST_TRIES = 3
"""How often a question may take its process with it before it is given up."""
LONGEST_WAIT = 3_600.0
"""Seconds until a used up budget is looked at again, at most."""


class BatchWorker:
    """Answers the questions of batches, one after the other, in a thread that `loop` keeps going."""

    def __init__(self, services: Services, retries: Retries = RETRIES) -> None:
        self._services = services
        self._retries = retries
        self.loop = WorkLoop(self.work_once, idle_seconds=IDLE_SECONDS, waits="The batches wait")
        self._current: Cancellation | None = None

    def close(self) -> None:
        """Stop soon; the question in hand is the next worker's."""
        self.loop.close()
        if (current := self._current) is not None:
            current.cancel()

    def work_once(self) -> bool:
        """Answer one question; False where there is none. Raises DependencyError: the database does not answer."""
        batches = self._services.storage.batches
        if (taken := batches.claim(uuid.uuid4().hex)) is None:
            return False
        question, asked_by = taken
        who = self._caller(asked_by)
        if who is None or question.tries > MOST_TRIES:
            given_up = f"It was given up: the process that answered it ended {MOST_TRIES} times."
            message = given_up if who else "The key that asked was revoked."
            batches.finish(question, "failed", error={"code": "given_up", "message": message})
            return True
        cancel = self._current = Cancellation()

        def beat() -> bool:
            if not (wanted := batches.renew(question)):
                cancel.cancel()
            return wanted

        try:
            with heartbeat("batch-beat", BEAT_SECONDS, beat):
                self._answer(question, who, cancel)
        finally:
            self._current = None
        return True

    def _caller(self, asked_by: dict[str, Any]) -> Caller | None:
        """The caller of a batch with their key as it is now; None where it was revoked."""
        if not asked_by["key"]:
            return Caller(**{**asked_by, "key": None})
        key = self._services.storage.keys.get(asked_by["key"])
        if key is None:
            return None
        return replace(Caller(**{**asked_by, "key": key}), daily_tokens=key.daily_tokens, limit=key.limit)

    def _answer(self, question: BatchQuestion, who: Caller, cancel: Cancellation) -> None:
        batches = self._services.storage.batches

        def waiting(reason: str) -> None:
            log.warning("The batch %s waits: %s", question.batch_id, reason)
            batches.tell(question, reason)

        try:
            # A model that is away for minutes would fail hundreds of questions meanwhile.
            saved = self._retries.run(lambda: self._ask(question, who, cancel), Watch(waiting=waiting, cancel=cancel))
        except (BudgetExhaustedError, IngestingError) as error:
            batches.put_back(question, detail=error.message, seconds=min(error.retry_after or 0, LONGEST_WAIT))
            return
        except ChatbotError as error:
            if not cancel.cancelled:
                batches.finish(question, "failed", error=error_json(error))
                return
            saved = None
        if saved is not None:
            batches.finish(question, "done", answer=without_passages(saved))
        elif self.loop.stopping:
            batches.put_back(question)
        else:
            batches.finish(question, "cancelled")

    def _ask(self, question: BatchQuestion, who: Caller, cancel: Cancellation) -> Saved | None:
        """Answer a question as `POST /query` does, without a conversation; None where it was cancelled."""
        asked = parse(ChatRequest, question.request).to_question(self._services, who.limit)
        return self._services.answering.chat.answer(asked, cancel=cancel, caller=who)

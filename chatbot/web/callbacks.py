"""Web hooks: a job that is done is told to the address that came with it, beside the requests, a few times if need be.

Signed as Standard Webhooks have it (https://www.standardwebhooks.com), where CALLBACK_SECRET is set.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Semaphore
from typing import Any, TypeVar

from ..cancellation import Cancellation
from ..errors import DependencyError, InvalidRequestError, LoadError
from ..fetching.fetch import check_url, send
from ..ingestion.watch import WorkLoop
from ..repositories.callbacks import CallbackQueue
from ..schema.jobs import Batch, Ingestion
from ..serialization import batch_json
from ..services import Services
from .payloads import Job
from .request import services

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0
AT_ONCE = 16
Ended = TypeVar("Ended", Ingestion, Batch)


def callback_of(job: Job) -> str:
    """The address that a job's end is told to, "" = none. Raises InvalidRequestError: it may not be called."""
    if job.callback_url is None:
        return ""
    try:
        check_url(job.callback_url, allow_private=services().settings.fetch_private_urls)
    except LoadError as error:
        raise InvalidRequestError.for_field("callback_url", error.message) from error
    return job.callback_url


class Callbacks:
    """Tells of jobs that have ended, in threads that `run` hands them to.

    AT_ONCE are told at the same time: whoever takes the whole ten seconds to answer holds up nobody else.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self.loop = WorkLoop(self.call_once, idle_seconds=IDLE_SECONDS, waits="Nobody is called back")
        self._cancel = Cancellation()
        self._calls = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="callback")
        self._free = Semaphore(AT_ONCE)
        self._in_hand: set[str] = set()
        """Jobs that are being told of, not to be told twice at a time."""

    def close(self) -> None:
        """Stop soon; what was not told is told after the next start."""
        self.loop.close()
        self._cancel.cancel()

    def run(self) -> None:
        """Until it is closed, and the calls in hand have ended."""
        self.loop.run()
        self._calls.shutdown()

    def call_once(self) -> bool:
        """Begin to tell of one job; False where there is none. Raises DependencyError: the database does not answer."""
        if not self._free.acquire(timeout=IDLE_SECONDS):
            return True
        call: Callable[[], None] | None = None
        try:
            call = self._next()
        finally:
            if call is None:
                self._free.release()
        if call is not None:
            self._calls.submit(call)
        return call is not None

    def _next(self) -> Callable[[], None] | None:
        from .jobs import job_json

        storage = self._services.storage
        ingestion = self._due(storage.ingestions.callbacks, job_json)
        return ingestion or self._due(storage.batches.callbacks, batch_json)

    def _due(self, queue: CallbackQueue[Ended], about: Callable[[Ended], dict[str, Any]]) -> Callable[[], None] | None:
        if (due := queue.due(self._in_hand)) is None:
            return None
        job, url, call = due
        self._in_hand.add(job.id)
        return partial(self._tell, job.id, about(job), url, partial(queue.done, job.id, call))

    def _tell(self, job_id: str, about: dict[str, Any], url: str, done: Callable[[], None]) -> None:
        try:
            problem = self._problem(job_id, about, url)
            if not problem:
                done()
        except DependencyError as error:  # a thread has nobody to raise to; it is told once more
            problem = error.message
        finally:
            self._in_hand.discard(job_id)
            self._free.release()
        if problem and not self.loop.stopping:
            log.warning("The end of job %s was not told: %s", job_id, problem)

    def _problem(self, job_id: str, about: dict[str, Any], url: str) -> str:
        settings = self._services.settings
        body = json.dumps(about, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **signature(job_id, body, settings.callback_key)}
        try:
            status = send(url, body, headers, allow_private=settings.fetch_private_urls, cancel=self._cancel)
        except LoadError as error:
            return error.message
        return "" if 200 <= status < 300 else f"the answer was {status}."


def signature(job_id: str, body: bytes, key: bytes) -> dict[str, str]:
    """Headers; ``key`` b"" = unsigned. The id is the same when the same is told again."""
    id, now = f"{job_id}-{hashlib.sha256(body).hexdigest()[:12]}", str(int(time.time()))
    headers = {"webhook-id": id, "webhook-timestamp": now}
    if key:
        digest = hmac.new(key, f"{id}.{now}.".encode() + body, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers

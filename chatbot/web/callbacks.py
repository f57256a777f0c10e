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
from typing import Any

from ..cancellation import Cancellation
from ..errors import InvalidRequestError, LoadError
from ..fetching.fetch import check_url, send
from ..ingestion.watch import WorkLoop
from ..serialization import batch_json, ingestion_json
from ..services import Services
from .bodies import Job
from .services import services

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0


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
    """Tells of jobs that have ended, in a thread that `loop` keeps going."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.loop = WorkLoop(self.call_once, idle_seconds=IDLE_SECONDS, waits="Nobody is called back")
        self._cancel = Cancellation()

    def close(self) -> None:
        """Stop soon; what was not told is told after the next start."""
        self.loop.close()
        self._cancel.cancel()

    def call_once(self) -> bool:
        """Tell of one job; False where there is none. Raises DependencyError: the database does not answer."""
        storage = self._services.storage
        if (due := storage.ingestions.callbacks.due()) is not None:
            job, url, call = due
            if self._tell(job.id, ingestion_json(job), url):
                storage.ingestions.callbacks.done(job.id, call)
            return True
        if (ended := storage.batches.callbacks.due()) is not None:
            batch, url, call = ended
            if self._tell(batch.id, batch_json(batch), url):
                storage.batches.callbacks.done(batch.id, call)
            return True
        return False

    def _tell(self, job_id: str, about: dict[str, Any], url: str) -> bool:
        problem = self._problem(job_id, about, url)
        if problem and not self.loop.stopping:
            log.warning("The end of job %s was not told: %s", job_id, problem)
        return not problem

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

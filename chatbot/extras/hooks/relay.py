"""The relay: delivers events beside the requests, in any process; two do not make the
same try.
"""

import base64
import hashlib
import hmac
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from ...app.services import Services
from ...config.settings import Settings
from ...domain import Cancellation
from ...domain.errors import DependencyError, LoadError
from ...library.fetching import send
from ...library.fetching.transport import rules_for
from .outbox import BOUNDS, Delivery, Hook, Outbox

log = logging.getLogger(__name__)


def run(services: Services, stop: threading.Event) -> None:
    """Deliver events until ``stop`` is set."""
    relay = Relay(services)
    with ThreadPoolExecutor(BOUNDS["at_once"], "hooks") as threads:
        pause = BOUNDS["look_seconds"]
        while not stop.wait(pause):
            try:
                is_used = relay.run_once(threads)
                pause = BOUNDS["look_seconds" if is_used else "idle_seconds"]
            except DependencyError as error:
                log.warning("Events wait to be delivered: %s", error.message)


class Relay:
    """One look for events and what is to be delivered."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._outbox = Outbox(services.storage.database)

    def run_once(self, threads: ThreadPoolExecutor) -> bool:
        """Collect new events and make the tries that are due; return whether anybody
        is told of events. Raises DependencyError: the database does not answer.
        """
        hooks = self._outbox.hooks()
        if not hooks:
            return False
        self._outbox.collect(hooks)
        limit = self._services.settings.daily_token_limit
        if limit is not None:
            used = self._services.storage.usage.today()
            self._outbox.note_budget(hooks, used, limit)
        by_id = {hook.id: hook for hook in hooks}
        list(threads.map(lambda one: self._try(one, by_id), self._outbox.due()))
        self._outbox.prune()
        return True

    def _try(self, delivery: Delivery, hooks: dict[str, Hook]) -> None:
        hook = hooks.get(delivery.hook)
        if hook is None:
            return
        problem = deliver(delivery, hook, self._services.settings)
        if problem:
            log.warning("%s was not told of an event: %s", hook.id, problem)
        self._outbox.finish(delivery, problem)


def deliver(delivery: Delivery, hook: Hook, settings: Settings) -> str:
    """Make one try; return why it failed, "" where the receiver took the event."""
    body = delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        **signature(delivery.webhook_id, body, hook.secret, int(time.time())),
    }
    rules = rules_for(private=settings.fetch_private_urls)
    try:
        status = send(
            hook.url,
            body,
            headers,
            rules=rules,
            cancel=Cancellation(),
            seconds=BOUNDS["try_seconds"],
            max_bytes=BOUNDS["answer_bytes"],
        )
    except LoadError as error:
        return error.message
    return "" if 200 <= status < 300 else f"The answer was {status}."


def signature(id: str, body: bytes, secret: str, now: int) -> dict[str, str]:
    """Return the headers of Standard Webhooks."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{now}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{digest}",
    }

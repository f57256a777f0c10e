"""Each caller's share of requests, shared by all workers: counted before a request, told in its response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from flask import Response, g, request

from ..errors import TooManyRequestsError, UnauthorizedError
from ..schema.access import Caller
from ..services import Services
from .access import address, caller, needed
from .routes import current_route
from .services import services

T = TypeVar("T")
AFTER_BUDGET_SECONDS = 60.0
"""A question that takes so much longer than its budget has no process any more."""


def count_request() -> None:
    """Count the current request. Raises TooManyRequestsError."""
    route = current_route()
    if route is None or not route.is_counted or request.method == "OPTIONS":
        return
    who = _counted()
    most = who.key.requests_per_minute if who.key else None
    most = most or services().settings.request_limit
    if most is None:
        return
    count, reset = services().storage.counters.request(who.account)
    g.share = {"RateLimit-Limit": most, "RateLimit-Remaining": max(0, most - count), "RateLimit-Reset": reset}
    if count > most:
        raise TooManyRequestsError(
            f"Rate limit of {most} requests a minute reached. Retry in {reset} s.", retry_after=reset
        )


def _counted() -> Caller:
    """Signing in, and a key that is none, are counted by the address."""
    by_address = Caller(account=address())
    try:
        return by_address if needed() == "nothing" else caller()
    except UnauthorizedError:
        return by_address


def tell_share(response: Response) -> None:
    """Say in the response's headers how much of the caller's limit is left, where there is one."""
    response.headers.update({name: str(value) for name, value in g.get("share", {}).items()})


def one_at_a_time(found: Services, who: Caller, events: Callable[[], Iterator[T]]) -> Iterator[T]:
    """The events of a question, as one of QUESTIONS_PER_CALLER. Raises TooManyRequestsError, before the first."""
    most = found.settings.questions_per_caller
    if most is None:
        yield from events()
        return
    seconds = found.settings.budget_seconds + AFTER_BUDGET_SECONDS
    with found.storage.counters.question(who.account, most=most, seconds=seconds):
        yield from events()

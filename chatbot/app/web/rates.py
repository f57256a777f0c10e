"""Limit how many requests and questions a caller may send."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flask import g

from ...domain.callers import Caller
from ...domain.errors import TooManyRequestsError, UnauthorizedError
from ..services import Services
from ..services.runtime import AFTER_BUDGET_SECONDS
from .callers import address, caller
from .routes import current_route, services


def count_request() -> None:
    """Count the current request. Raises TooManyRequestsError."""
    route = current_route()
    if route is None or not route.is_counted:
        return
    who = Caller(
        account=address()
    )  # also of requests to sign in, and of those with an unknown key
    if route.need != "nothing":
        with suppress(UnauthorizedError):
            who = caller()
    most = (
        who.key.requests_per_minute if who.key else None
    ) or services().settings.request_limit
    if most is None:
        return
    count, reset = services().storage.counters.request(who.account)
    left = max(0, most - count)
    g.rate_limit = {
        "RateLimit-Limit": most,
        "RateLimit-Remaining": left,
        "RateLimit-Reset": reset,
        # draft-ietf-httpapi-ratelimit-headers-10, which is to replace the three above
        "RateLimit-Policy": f'"minute";q={most};w=60',
        "RateLimit": f'"minute";r={left};t={reset}',
    }
    if count > most:
        message = f"Rate limit of {most} requests a minute reached. Retry in {reset} s."
        raise TooManyRequestsError(message, retry_after=reset)


@contextmanager
def question_slot(product: Services, who: Caller) -> Iterator[None]:
    """Hold one of the caller's QUESTIONS_PER_CALLER. Raises TooManyRequestsError: they
    are all in use.
    """
    most = product.settings.question_limit
    if most is None:
        yield
        return
    seconds = product.settings.budget_seconds + AFTER_BUDGET_SECONDS
    with product.storage.counters.question(who.account, most=most, seconds=seconds):
        yield

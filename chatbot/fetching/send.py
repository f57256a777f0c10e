"""A POST to an address that somebody named, under the rules of `fetch`: public hosts, no redirect, no long wait."""

from __future__ import annotations

from collections.abc import Mapping

from ..cancellation import Cancellation
from ..errors import LoadError
from .addresses import FetchProblem, Resolve, parse_url, resolve_host, rules_for, url_for_message
from .transport import Clock, exchange

MOST_ANSWERED = 64 * 1024
"""Bytes of an answer, of which only the status counts."""


def check_url(url: str, *, allow_private: bool = False) -> None:
    """Before its host is looked up. Raises LoadError: it would be refused."""
    try:
        parse_url(url, rules_for(allow_private, resolve_host).ports)
    except FetchProblem as problem:
        raise LoadError(str(problem)) from problem


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allow_private: bool = False,
    seconds: float = 10.0,
    cancel: Cancellation | None = None,
    resolve: Resolve = resolve_host,
) -> int:
    """The status of the answer. Raises LoadError: it was refused, or could not be delivered."""
    rules = rules_for(allow_private, resolve)
    try:
        target, clock = parse_url(url, rules.ports), Clock(seconds, cancel)
        with exchange(target, rules, clock, MOST_ANSWERED, body=body, headers=headers) as reply:
            return reply.status
    except FetchProblem as problem:
        raise LoadError(f"{url_for_message(url)}: {problem}") from problem

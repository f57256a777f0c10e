"""A web address to a file that a loader can read, without becoming a way into the network this server stands in.

Each request goes to an address that was checked just before, redirects are followed by hand with the same checks,
and time, size and type are bounded.
"""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin

from ..cancellation import Cancellation
from ..errors import LoadError
from .fetch_addresses import FetchProblem, Resolve, Rules, Target, parse_url, resolve_host, shown
from .fetch_content import as_utf8, file_name, media_type
from .fetch_sockets import Clock
from .fetch_transport import body, check_status, exchange, redirected_to

MAX_BYTES = 50 * 1024**2
MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched page. ``url`` is where it was found after redirects, ``name`` its file name for people,
    ``content_type`` as the server says, without parameters and possibly empty.
    """

    path: Path
    url: str
    name: str
    content_type: str


def fetch(
    url: str,
    folder: Path,
    *,
    allow_private: bool = False,
    cancel: Cancellation | None = None,
    max_bytes: int = MAX_BYTES,
    seconds: float = 30.0,
    resolve: Resolve = resolve_host,
) -> Fetched:
    """Download ``url`` into ``folder``, which must exist, under a name that fits its type.

    ``allow_private`` lifts the limits on addresses and ports. ``seconds`` is for all of it, redirects included.

    Raises:
        LoadError: it was refused, could not be fetched, or the fetch was cancelled; nothing is left in ``folder``.
    """
    rules = Rules(resolve, permitted=lambda address: True, ports=None) if allow_private else Rules(resolve)
    return fetch_by(rules, url, folder, clock=Clock(seconds, cancel), max_bytes=max_bytes)


def fetch_by(rules: Rules, url: str, folder: Path, *, clock: Clock, max_bytes: int = MAX_BYTES) -> Fetched:
    """`fetch` under other rules. Raises LoadError."""
    current = url = url.strip()
    try:
        target = parse_url(current, rules.ports)
        for _ in range(MAX_REDIRECTS + 1):
            with exchange(target, rules, clock, max_bytes) as response:
                location = redirected_to(response)
                if location is None:
                    return _saved(response, target, folder, max_bytes)
            current = _joined(target.url, location)
            target = _next(target, current, rules)
        raise FetchProblem(f"it redirects more than {MAX_REDIRECTS} times. Use the address the browser ends at.")
    except FetchProblem as problem:
        where = shown(url) if current == url else f"{shown(url)}: redirected to {shown(current)}"
        raise LoadError(f"{where}: {problem}") from problem


def _joined(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError as error:
        raise FetchProblem("it redirects to what is no web address. Use the address the browser ends at.") from error


def _next(target: Target, url: str, rules: Rules) -> Target:
    following = parse_url(url, rules.ports)
    if target.scheme == "https" and following.scheme == "http":
        raise FetchProblem("an encrypted page leads to an unencrypted one, which is not followed.")
    return following


def _saved(response: http.client.HTTPResponse, target: Target, folder: Path, max_bytes: int) -> Fetched:
    check_status(response)
    stem, suffix = file_name(response.headers, target.url)
    try:
        path, file = _created(folder, stem, suffix)
        try:
            with file:
                for piece in body(response, max_bytes):
                    file.write(piece)
            as_utf8(path, response.headers)
        except BaseException:
            path.unlink()
            raise
    except OSError as error:  # the network's errors are FetchProblems by now
        raise FetchProblem(f"it cannot be stored here: {error.strerror}.") from error
    return Fetched(path, target.url, f"{stem}{suffix}", media_type(response.headers))


def _created(folder: Path, stem: str, suffix: str) -> tuple[Path, BinaryIO]:
    """A new file: one that is there already, also another fetch's, is left alone."""
    number = 1
    while True:
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            return path, path.open("xb")
        except FileExistsError:
            number += 1

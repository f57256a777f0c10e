"""Commands as processes of their own, and the servers among them: on a port of their
choice, which they tell.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
"""Seconds that a process may take to end."""


@contextmanager
def started(
    environment: dict[str, str], *command: str, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """`python COMMAND`, its output piped; killed at the end where it still runs."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(announced: IO[str] | None) -> str:
    """Where a server listens, as soon as it says so in this output of it."""
    assert announced is not None
    for line in announced:
        if found := re.search(r"https?://127\.0\.0\.1:(?!0\b)\d+", line):
            return found[0]
    pytest.fail("The server ended before it listened.")


def get(url: str) -> tuple[int, str]:
    """Status and body."""
    try:
        with urlopen(url, timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def call(
    url: str,
    method: str,
    path: str,
    body: str | bytes | None = None,
    content_type: str = "",
) -> dict[str, Any]:
    """The JSON of a response; {} for one without a body."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=120)
    try:
        connection.request(
            method, path, body, {"Content-Type": content_type} if content_type else {}
        )
        found: dict[str, Any] = json.loads(connection.getresponse().read() or "{}")
        return found
    finally:
        connection.close()

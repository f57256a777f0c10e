"""What the tests of fetching share: a lookup that says what it is told, and the message
of a refusal.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.fetching import fetch
from chatbot.library.fetching.transport import (
    ANYWHERE,
    Resolve,
    Rules,
    is_public,
    resolve_host,
)

PUBLIC = "93.184.215.14"
HERE = "127.0.0.1"


def lookup(**hosts: str) -> "Resolver":
    return Resolver(
        {
            name.replace("_", "."): [[each] for each in found.split()]
            for name, found in hosts.items()
        }
    )


class Resolver:
    """Each lookup of a name gets its next answer, the last one for ever. An address is
    its own.
    """

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.answers.get(host, [[host]])
        return answers[min(self.asked.count(host), len(answers)) - 1]


def refused(
    folder: Path,
    url: str,
    rules: Rules | None = None,
    *,
    resolve: Resolve = resolve_host,
    **options: object,
) -> str:
    """The message of the error; nothing is left behind."""
    with pytest.raises(LoadError) as caught:
        fetch(url, folder, rules=replace(rules or Rules(), resolve=resolve), **options)
    assert list(folder.iterdir()) == []
    return caught.value.message


def refused_here(folder: Path, url: str, **options: object) -> str:
    return refused(folder, url, ANYWHERE, **options)


def fetch_as_public(url: str, folder: Path) -> Path:
    """Only the test server's own address counts as public besides those that are."""
    rules = Rules(
        permitted=lambda address: address == HERE or is_public(address), ports=None
    )
    return fetch(url, folder, rules=rules, seconds=5.0)

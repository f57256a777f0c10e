"""The log: ours at its level, libraries where they warn."""

import json
import subprocess
import sys

import pytest

from tests.data import cases

CASES = cases(__file__)
LINES = """
import logging
from chatbot.config.log import begin_log
begin_log({level!r}, {style!r})
for name in ("chatbot.app.web", "httpx2", "pymongo.command"):
    for level in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger(name), level)("%s of %s", level, name)
"""


@pytest.mark.parametrize(
    ("level", "ours", "theirs"), CASES["libraries tell no content whatever the level"]
)
def test_libraries_tell_no_content_whatever_the_level(
    level: str, ours: list[str], theirs: list[str]
) -> None:
    names = {"chatbot.app.web": ours, "httpx2": theirs, "pymongo.command": theirs}
    expected = [(shown, name) for name, levels in names.items() for shown in levels]
    assert [
        (part[2], part[3].rstrip(":")) for part in map(str.split, lines(level, "text"))
    ] == expected
    objects = [json.loads(line) for line in lines(level, "json")]
    assert [(one["level"], one["logger"]) for one in objects] == expected
    assert [one["message"] for one in objects] == [
        f"{shown.lower()} of {name}" for shown, name in expected
    ]


def lines(level: str, style: str) -> list[str]:
    code = LINES.format(level=level, style=style)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr.splitlines()

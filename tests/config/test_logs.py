"""The log: ours at its level, libraries where they warn."""

from __future__ import annotations

import subprocess
import sys

import pytest

LINES = """
import logging
from chatbot.config import begin_log
begin_log({level!r})
for name in ("chatbot.app.web", "httpx2", "pymongo.command"):
    for level in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger(name), level)("%s of %s", level, name)
"""


@pytest.mark.parametrize(
    ("level", "ours", "theirs"),
    [
        ("DEBUG", ["DEBUG", "INFO", "WARNING", "ERROR"], ["WARNING", "ERROR"]),
        ("INFO", ["INFO", "WARNING", "ERROR"], ["WARNING", "ERROR"]),
        ("ERROR", ["ERROR"], ["ERROR"]),
    ],
)
def test_libraries_tell_no_content_whatever_the_level(level: str, ours: list[str], theirs: list[str]) -> None:
    code = LINES.format(level=level)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    found = [line.split()[2:4] for line in said.splitlines()]
    names = {"chatbot.app.web:": ours, "httpx2:": theirs, "pymongo.command:": theirs}
    assert found == [[shown, name] for name, levels in names.items() for shown in levels]

"""The log of a process, on the error stream."""

from __future__ import annotations

import logging

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def begin_log(level: str) -> None:
    """``level`` (LOG_LEVEL) is for our own lines, libraries only warn: httpx2 tells addresses with their passwords, and
    pymongo the content of each command, questions and secrets too.
    """
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.WARNING), format=FORMAT)
    logging.getLogger(__package__).setLevel(level)

"""The log of a process, on the error stream."""

from __future__ import annotations

import logging

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def begin_log(level: str) -> None:
    """Log our own lines from ``level`` (LOG_LEVEL) on, and warnings of libraries.

    httpx2 would log addresses with passwords, and pymongo the content of each command, with questions and secrets.
    """
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.WARNING), format=FORMAT)
    logging.getLogger("chatbot").setLevel(level)

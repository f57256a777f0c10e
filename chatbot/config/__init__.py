"""The first needs of a process: the files that ship with the program, and its log on the error stream. The files are
beside the package in a checkout, and inside it when installed (pyproject.toml)."""

from __future__ import annotations

import logging
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_ROOT = _PACKAGE / "_shipped" if (_PACKAGE / "_shipped").is_dir() else _PACKAGE.parent

TEMPLATES = _ROOT / "templates"
STATIC = _ROOT / "static"
SAMPLE_DATA = _ROOT / "sample_data"
GUNICORN = _ROOT / "gunicorn.conf.py"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def begin_log(level: str) -> None:
    """Log our own lines from ``level`` (LOG_LEVEL) on, and warnings of libraries. httpx2 would log addresses with
    passwords, and pymongo the content of each command, with questions and secrets."""
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.WARNING), format=FORMAT)
    logging.getLogger("chatbot").setLevel(level)

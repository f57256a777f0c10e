"""Prompts as files, one `.txt` each, with ``$name`` placeholders."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from string import Template


@lru_cache(maxsize=32)
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def render(name: str, **values: str) -> str:
    """The prompt ``name`` with its placeholders filled. Raises KeyError where one is missing."""
    return _template(name).substitute(values).strip()

"""The glossary of the library: what terms mean, and the words that people use for the figures of the reports."""

from __future__ import annotations

from dataclasses import dataclass

from .json import Hidden

SAMPLE_GLOSSARY = "sample_data"
"""The source of entries that belong to the sample reports."""


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """``other_words``: ways to say the term or to ask for its figures.

    ``heading`` and ``label`` are those of the figures that it stands for, "" = none. ``source``: the id of the report
    that defines it, SAMPLE_GLOSSARY, or "" for an imported entry. ``passage``: the ordinal of the defining passage.
    """

    term: str
    meaning: str
    other_words: tuple[str, ...] = ()
    heading: str = ""
    label: str = ""
    source: str = ""
    passage: Hidden[int | None] = None

"""The columns of tables of questions: `feedback export` writes them, `evaluate` and
`ask` read them.
"""

EXPECTATION_COLUMNS = (
    "question",
    "expected_document",
    "page",
    "answer",
    "answerable",
    "note",
)
"""A column for each filter field may follow: together they are the scope of the
question.
"""
RATING_COLUMNS = ("rating", "reason", "comment", "cited", "at")
"""What `feedback export` adds about the given answer, not the expected one."""
SEVERAL = ";"
"""Separates several expected documents, or several values of a filter field."""


def split_cell(cell: str) -> list[str]:
    """Return the values of a cell, which `SEVERAL` separates."""
    return [part.strip() for part in cell.split(SEVERAL) if part.strip()]

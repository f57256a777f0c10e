"""The data sets that are not in this repository: the folder that REPORT_CHAT_TEST_DATA names.

It holds `bench/` (retrieval sets in BEIR layout), `sample_corpus/`, `loader_cases/` and `quality_dev/`. What needs one
of them is skipped where it is not there, with a word on why.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "REPORT_CHAT_TEST_DATA"


def data_set(*parts: str) -> Path:
    """A file or folder of the data sets; a path that does not exist where the variable is not set."""
    return Path(os.environ.get(VARIABLE) or f"({VARIABLE} is not set)", *parts)


def needs(path: Path) -> pytest.MarkDecorator:
    """Skips a test where ``path``, of `data_set`, is not there."""
    return pytest.mark.skipif(not path.exists(), reason=f"the data set is not here: {path}")

"""Cases beside the tests, and the data sets that are not in this repository.

The data sets are in the folder that REPORT_CHAT_TEST_DATA names: `bench/` (retrieval
sets in BEIR layout), `sample_corpus/`, `loader_cases/` and `quality_dev/`. A test that
needs one of them is skipped where it is missing.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "REPORT_CHAT_TEST_DATA"


def cases(test_file: str) -> Any:
    """Return what `data/NAME.json` beside `test_NAME.py` holds: the questions and texts
    of each test, a row each.
    """
    path = Path(test_file)
    return json.loads(
        (path.parent / "data" / f"{path.stem.removeprefix('test_')}.json").read_text(
            "utf-8"
        )
    )


def data_set(*parts: str) -> Path:
    """A file or folder of the data sets; a path that does not exist where the variable
    is not set.
    """
    return Path(os.environ.get(VARIABLE) or f"({VARIABLE} is not set)", *parts)


def needs(path: Path) -> pytest.MarkDecorator:
    """Skips a test where ``path``, of `data_set`, is not there."""
    return pytest.mark.skipif(
        not path.exists(), reason=f"the data set is not here: {path}"
    )

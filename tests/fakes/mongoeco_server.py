"""mongoeco as a second MongoDB server: written by others, and compared by them with
captured results of MongoDB 7, 8 and 9 (its COMPATIBILITY.md). It serves everything but
search. `.ci/mongoeco` makes the environment that it runs in.

It differs from MongoDB's documentation in two points, which `test_collection.py` leaves
out:
- `$ne` and `$nin` with null. There null also stands for a field that does not exist
  (mongodb.com/docs/manual/tutorial/query-for-null-fields), so the two leave out
  documents without the field. mongoeco finds them.
- `$lt`, `$lte`, `$gt` and `$gte` compare only values of the operand's type
  (mongodb.com/docs/manual/reference/mql/query-predicates/type-bracketing).
  mongoeco also finds values of types that sort before or after it.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(
    os.environ.get("REPORT_CHAT_MONGOECO") or ROOT / ".mongoeco" / "bin" / "python"
)
IS_INSTALLED = PYTHON.is_file()
NEEDS_MONGOECO = pytest.mark.skipif(
    not IS_INSTALLED, reason="mongoeco is not installed: run .ci/mongoeco"
)
SERVING = Path(__file__).with_name("mongoeco_serving.py")


@contextmanager
def mongoeco() -> Iterator[str]:
    """Yield the URI of an empty server, which ends with the block."""
    process = subprocess.Popen(
        [PYTHON, "-I", SERVING], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        assert port, "mongoeco does not start"
        yield f"mongodb://127.0.0.1:{port}/?directConnection=true"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

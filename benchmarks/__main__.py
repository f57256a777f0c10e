"""`python -m benchmarks compare WHAT`: measurements beside peers, and those of this product alone that take long."""

from __future__ import annotations

import runpy
import sys

ALONE = {"growth": "benchmarks.growth", "soak": "benchmarks.soak"}


def main() -> None:
    command, what, *rest = [*sys.argv[1:], "", ""]
    if command != "compare":
        sys.exit("Usage: python -m benchmarks compare search|question|ingest|start|growth|soak [options]")
    module = ALONE.get(what, "benchmarks.compare")
    sys.argv = [f"python -m {module}", *([] if what in ALONE else [what]), *(one for one in rest if one)]
    runpy.run_module(module, run_name="__main__")


main()

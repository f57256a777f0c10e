"""`python -m benchmarks compare WHAT`: measurements beside peers, and those of this product alone that take long;
`python -m benchmarks hostile`: what a small input can cost.
"""

from __future__ import annotations

import runpy
import sys

ALONE = {"growth": "benchmarks.growth", "soak": "benchmarks.soak", "hostile": "benchmarks.hostile"}


def main() -> None:
    command, *rest = sys.argv[1:] or [""]
    if command == "compare":
        command, *rest = rest or [""]
        module = ALONE.get(command, "benchmarks.compare")
    elif command == "hostile":
        module = ALONE[command]
    else:
        sys.exit(
            "Usage: python -m benchmarks compare search|question|ingest|start|growth|soak [options] | hostile [options]"
        )
    sys.argv = [f"python -m {module}", *([] if command in ALONE or not command else [command]), *rest]
    runpy.run_module(module, run_name="__main__")


main()

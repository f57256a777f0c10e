"""`python -m benchmarks compare WHAT`: measurements beside peers, and those of this product alone that take long;
`hostile`, `serving`, `campaign`, `contract`: what attacks cost, and whether they and the description are held; `page`:
what the browser adds.
"""

from __future__ import annotations

import runpy
import sys

ALONE = {"growth": "benchmarks.growth", "soak": "benchmarks.soak"}
ATTACKS = {"hostile": "benchmarks.hostile", "serving": "benchmarks.serving", "campaign": "benchmarks.campaign",
           "contract": "benchmarks.contract", "page": "benchmarks.page"}  # fmt: skip


def main() -> None:
    command, *rest = sys.argv[1:] or [""]
    if command == "compare":
        command, *rest = rest or [""]
        module = ALONE.get(command, "benchmarks.compare")
    elif command in ATTACKS:
        module = ATTACKS[command]
    else:
        sys.exit(
            "Usage: python -m benchmarks compare search|question|ingest|start|growth|soak [options]\n"
            f"       python -m benchmarks {'|'.join(ATTACKS)} [options]"
        )
    own = command in ALONE or command in ATTACKS
    sys.argv = [f"python -m {module}", *([] if own or not command else [command]), *rest]
    runpy.run_module(module, run_name="__main__")


main()

"""Attacks at random, as many as wished: the tests of which CI runs a part that is
always the same.

python -m benchmarks campaign kills 40
python -m benchmarks campaign requests 10000 --seed 7
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CAMPAIGNS = {
    "kills": "tests/library/test_killed.py",
    "requests": "tests/app/web/test_any_request.py",
    "files": "tests/library/loaders/test_fuzz.py",
    "filters": "tests/database/test_collection.py",
    "replies": "tests/answering/modes/test_fuzzed.py",
    "replacements": "tests/library/test_late_search.py",
    "days": "tests/extras/sources/test_absence.py",
    "interleavings": "tests/faults/test_interleavings.py",
    "orders": "tests/faults/test_upload_order.py",
    "owners": "tests/app/web/test_access.py",
    "injections": "tests/browser/test_injections.py",
}
"""What is tried, and where. orders: with so many of the embedded database, MongoDB and
pgvector. The last two have as many cases as there are routes and texts.
"""
FIXED, SEEDED = ("owners", "injections"), ("requests",)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks campaign", description=__doc__.splitlines()[0]
    )
    parser.add_argument("name", choices=CAMPAIGNS)
    parser.add_argument(
        "times", type=int, nargs="?", help="how often; without it as in CI"
    )
    parser.add_argument("--seed", type=int)
    chosen = parser.parse_args()
    if chosen.name in FIXED and chosen.times is not None:
        parser.error(f"{chosen.name} has as many cases as there are")
    if chosen.name not in SEEDED and chosen.seed is not None:
        parser.error(f"--seed is for {', '.join(SEEDED)}")
    environment = dict(os.environ)
    if chosen.times is not None:
        environment[f"REPORT_CHAT_{chosen.name.upper()}"] = str(chosen.times)
    if chosen.seed is not None:
        environment["REPORT_CHAT_SEED"] = str(chosen.seed)
    command = [sys.executable, "-m", "pytest", "-n", "0", CAMPAIGNS[chosen.name]]
    command += ["-m", "nightly or not nightly"]  # some run at night only
    if chosen.times is not None:
        command += ["--timeout", "0"]  # the limit of a test is for CI's numbers
    sys.exit(subprocess.call(command, cwd=ROOT, env=environment))


if __name__ == "__main__":
    main()

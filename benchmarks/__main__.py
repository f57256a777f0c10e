"""`python -m benchmarks COMMAND [options]`: every measurement by its name; `COMMAND
--help` says what it does, and `COMMAND --smallest` checks that it still works.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

from benchmarks import smallest

COMMANDS = {
    "house": "how the package is written, and its limits (`--check`)",
    "sample_vectors": "compute the vectors that ship with the sample reports",
    "recorded": "what a checkout answers to fixed requests, to be compared with another",  # noqa: E501
    "questions": "what a person who types a question gets",
    "tapped": "the example questions of the first page, tapped in pairs",
    "rules": "what each rule of reading, ordering and checking protects and changes",
    "table_structure": "tables of PDFs against ICDAR's",
    "foreign": "documents of other people, read and asked about",
    "mixed": "the order of what is found, on libraries that are mixed",
    "fit": "fit the weights of the order on mixed libraries",
    "conversations": "complete questions in a conversation against the same alone",
    "approximate_search": "clusters against the exact scan",
    "small_files": "many small files with an embedding endpoint that takes its time",
    "growth": "100 and 10,000 reports",
    "compare": "search, question, ingest and start beside other products",
    "round_trips": "calls to MongoDB that wait for each other, each with a delay",
    "limits": "counts of what kinds of work cost, beside their limits",
    "question_time": "processor and wall time of a question beside another checkout",
    "serving": "questions beside streams and slow clients",
    "soak": "eight people and a librarian, for as long as wished",
    "crowd": "the owner's questions beside fifty strangers at their worst",
    "hostile": "what small inputs may cost",
    "kills": "every database call of every operation, killed and failed",
    "campaign": "kills, random requests and the like, as many as wished",
    "contract": "the API against its description",
    "stranger": "the wheel in an empty environment, the snippets, the Python API",
    "documented": "the commands that the pages print, as they are printed",
    "pictures": "the page in every language, width and state, and its layout's rules",
    "drawn": "whether the charts of answers draw what the answers state",
    "first_load": "bytes, requests and times of the first page, also on slow 3G",
    "clients": (
        "a Python and a TypeScript client, generated from the description, ask a "
        "question"
    ),
}


def main() -> None:
    command, *rest = sys.argv[1:] or [""]
    if command not in COMMANDS:
        rows = "\n".join(
            f"  {name:<20} {purpose}" for name, purpose in COMMANDS.items()
        )
        sys.exit(
            "Usage: python -m benchmarks COMMAND [options] | COMMAND --smallest\n"
            f"{rows}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        if rest == ["--smallest"]:
            rest = smallest.arguments(command, Path(scratch))
        sys.argv = [f"python -m benchmarks {command}", *rest]
        runpy.run_module(f"benchmarks.{command}", run_name="__main__")


if __name__ == "__main__":
    main()

"""Print which answers of `tests/checking/data` the citation check marks, without one
rule of `claims.toml`: python -m benchmarks.claim_marks RULE
"""

from __future__ import annotations

import json
import sys
from typing import Any

from chatbot.language.rules import RuleWords


def marks() -> dict[str, bool]:
    """Return whether each answer is marked, by the half of its file and its place."""
    # Imported here: the rules are read when the check is imported.
    from tests.checking.test_model_answers import CASES, checked

    return {
        f"{half} {number}": bool(checked(row).unsupported)
        for half, rows in CASES.items()
        for number, row in enumerate(rows)
    }


def leave_out(rule: str) -> None:
    """Make the rule match nothing in the tables that are read from now on."""
    read = RuleWords.__init__

    def read_without(self: RuleWords, package: str, name: str) -> None:
        read(self, package, name)
        tables: dict[str, Any] = self.tables
        if rule in tables["patterns"]:
            tables["patterns"][rule]["pattern"] = "(?!)"
        elif rule in tables["words"]:
            tables["words"][rule]["words"] = ""

    RuleWords.__init__ = read_without  # type: ignore[method-assign]


if __name__ == "__main__":
    leave_out(sys.argv[1])
    print(json.dumps(marks()))

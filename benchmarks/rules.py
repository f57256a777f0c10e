"""Say what each rule protects, and what changes without it.

    python -m benchmarks rules DATA [--only RULE ...]

DATA is the folder of the question sets: `quality_dev`, `wordings/dev` and
`questions4/dev`. A rule of reading or ordering (`benchmarks/rule_switches.py`) is
switched off, and the questions on which it acts are asked again by the product's own
path: of a list those that have a word of it, else those in which it matched or changed
something. A rule of the citation check is left out of `claims.toml`, and the answers of
`tests/checking/data` are checked again. A rule without effect anywhere that protects
nothing is deleted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import rule_switches
from benchmarks.questions import EVERY, SETS, Ask, Json, sample_reports

ROOT = Path(__file__).parents[1]
CLAIMS = ROOT / "chatbot" / "checking" / "claims.toml"
NO_RULE = "none"
SETS_OF_FOLDERS = {
    "quality_dev": ("plain", "conversations", "scope_positions", "abstention"),
    "wordings/dev": ("wordings",),
    "questions4/dev": ("kinds",),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder of the question sets")
    parser.add_argument("--only", nargs="*", metavar="RULE", help="these rules")
    chosen = parser.parse_args()
    claims = claim_rules()
    only = chosen.only or [*rule_switches.RULES, *claims]
    unknown = [name for name in only if name not in {*rule_switches.RULES, *claims}]
    if unknown:
        parser.error(f"There is no rule {', '.join(unknown)}.")
    print("| rule | asked again | change of each sum | protects |\n|---|---|---|---|")
    reading = [name for name in only if name in rule_switches.RULES]
    if reading:
        with sample_reports() as ask:
            compare_reading(ask, chosen.data, reading)
    compare_checks({name: claims[name] for name in only if name in claims})


def claim_rules() -> dict[str, str]:
    """Return what each rule of the citation check protects, by its name."""
    tables = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))
    return {
        f"claims.{name}": rule["protects"]
        for kind in ("patterns", "words")
        for name, rule in tables[kind].items()
    }


def compare_reading(ask: Ask, data: Path, names: Sequence[str]) -> None:
    """Print a row for each rule of reading and ordering."""
    with rule_switches.recorded() as acted:
        repeated = Repeated(ask, acted)
        before = dict(sums(repeated, data))
    for name in names:
        repeated.off = name
        repeated.asked = 0
        with rule_switches.without(name):
            after = dict(sums(repeated, data))
        print_row(name, repeated.asked, before, after, rule_switches.protects(name))


def sums(ask: Ask, data: Path) -> Iterator[tuple[str, float]]:
    """Yield the sum of each measure of each set that is there."""
    for folder, names in SETS_OF_FOLDERS.items():
        if not (data / folder).is_dir():
            continue
        chosen = Namespace(folder=data / folder, every=EVERY, wordings="seen")
        for name in names:
            for tally in SETS[name](ask, chosen):
                for measure, verdicts in tally.verdicts.items():
                    yield f"{folder} {tally.name} {measure}", sum(verdicts)


def compare_checks(purposes: dict[str, str]) -> None:
    """Print a row for each rule of the citation check."""
    if not purposes:
        return
    before = claim_marks(NO_RULE)
    for name, purpose in purposes.items():
        after = claim_marks(name.removeprefix("claims."))
        print_row(name, len(after), halves(before), halves(after), purpose)


def claim_marks(rule: str) -> dict[str, bool]:
    """Return which answers are marked without a rule, which is read at the start of a
    process.
    """
    command = [sys.executable, "-m", "benchmarks.claim_marks", rule]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    marked: dict[str, bool] = json.loads(run.stdout)
    return marked


def halves(marked: dict[str, bool]) -> dict[str, float]:
    """Return how many answers of each half of a file are marked."""
    result: dict[str, float] = {}
    for name, is_marked in marked.items():
        half = name.rpartition(" ")[0]
        result[half] = result.get(half, 0) + is_marked
    return result


def print_row(
    name: str,
    asked: int,
    before: dict[str, float],
    after: dict[str, float],
    purpose: str,
) -> None:
    changes = [
        f"{measure} {after[measure] - value:+.4g}"
        for measure, value in before.items()
        if after[measure] != value
    ]
    print(
        f"| `{name}` | {asked} | {', '.join(changes) or 'none'} | {purpose} |",
        flush=True,
    )


class Repeated:
    """Ask a question again only where the rule that is off had acted, in any turn of
    its conversation.
    """

    def __init__(self, ask: Ask, acted: Callable[[str], set[str]]) -> None:
        self._ask = ask
        self._acted = acted
        self.off = ""
        self.asked = 0
        self._answers: dict[tuple[str, ...], Json] = {}
        self._acting: dict[tuple[str, ...], set[str]] = {}
        self._turns: dict[str, tuple[str, ...]] = {}

    def __call__(self, query: str, **body: Any) -> Json:
        given = json.dumps(
            {name: value for name, value in body.items() if name != "conversation_id"},
            sort_keys=True,
        )
        key = (*self._turns.get(str(body.get("conversation_id")), ()), query, given)
        if self.off and key in self._answers and self.off not in self._acting[key[:2]]:
            return self._answers[key]
        answer = self._ask(query, **body)
        self._turns[str(answer["conversation_id"])] = key
        self.asked += 1
        if not self.off:
            self._answers[key] = answer
            acting = self._acted(f"{query} {answer['trace']['query']}")
            self._acting.setdefault(key[:2], set()).update(acting)
        return answer


if __name__ == "__main__":
    main()

"""Every database call of an operation, killed and failed in a run of its own.

A run is a point: an operation, the number of a call, and what happens there. Live
processes read the library before and, one of them, between the writes. Afterwards, and
after the work was taken up again, each of them has to show what a process shows that
is started then; and that has to be what an undisturbed run leaves.
"""

import difflib
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot.domain.errors import ChatbotError
from tests.faults.libraries import Library
from tests.faults.operations import (
    Operation,
    Site,
    answered,
    kept,
    recover,
    shown,
)
from tests.faults.scripts import (
    KILL,
    LOST_ANSWER,
    LOST_CALL,
    Call,
    Fault,
    Script,
)
from tests.library.helpers import KilledError

ROOT = Path(__file__).parents[2]
KINDS = (KILL, LOST_CALL, LOST_ANSWER)
RETRIES = 3
"""How often a person repeats what was refused."""
DONE = {"done", "superseded", "cancelled"}
DIFFERING_LINES = 6
AFTERWARDS, AFTER_THE_RETRY, IN_THE_END = "afterwards", "after the retry", "in the end"
"""Before the work was taken up again, after that, and against an undisturbed run."""


@dataclass(frozen=True)
class Point:
    """One run. ``call`` is the call that the fault meets, or the one before a kill."""

    library: str
    operation: str
    fault: Fault
    call: str

    def __str__(self) -> str:
        where = f"{self.library}: {self.operation}"
        return f"{where}: {self.fault.kind} {self.fault.number} ({self.call})"


@dataclass(frozen=True)
class Outcome:
    """A point with what was wrong after it; nothing, if all is well."""

    point: Point
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return "\n    ".join((str(self.point), *self.problems))

    @property
    def stays(self) -> bool:
        """Return whether something was still wrong after the retry."""
        return any(not one.startswith(AFTERWARDS) for one in self.problems)

    @property
    def summary(self) -> str:
        """The point, and which processes show what differently, and when."""
        parts = [problem.rpartition(": ")[0] or problem for problem in self.problems]
        places: dict[str, list[str]] = {}
        for problem in parts:
            place, _, part = problem.partition(": ")
            places.setdefault(place, []).append(part.partition(": ")[0])
        named = (f"{place} ({', '.join(names)})" for place, names in places.items())
        return f"{self.point}: {'; '.join(named)}"


@dataclass(frozen=True)
class Expected:
    """What an undisturbed run calls and leaves."""

    calls: tuple[Call, ...]
    shown: Mapping[str, Any]
    kept: Mapping[str, Any]
    answer: str


def undisturbed(library: Library, operation: Operation) -> Expected:
    """Run the operation without a fault."""
    with library.copy():
        script = Script()
        site = serving(library, operation, script)
        with script.counting():
            operation.run(site)
        fresh = library.open(Script(), cache=False)
        return Expected(tuple(script.calls), shown(fresh), kept(fresh), answered(fresh))


def serving(library: Library, operation: Operation, script: Script) -> Site:
    """Return a process that has served for a while, unless its start is what is run."""
    site = library.open(script)
    if not operation.by_a_new_process:
        site.services.prepare()
        shown(site)
    return site


def points(
    library: Library, operation: Operation, expected: Expected, kinds: Iterable[str]
) -> Iterator[Point]:
    """Yield each point of these kinds. Between two writes one kill is enough, as reads
    change nothing; and a read whose answer is lost is a read that fails.
    """
    writes = [number for number, call in enumerate(expected.calls) if call.writes]
    for number, call in enumerate(expected.calls):
        for kind in library.kinds:
            if kind not in kinds:
                continue
            if kind == LOST_CALL or call.writes:
                fault = Fault(number, kind)
                yield Point(library.name, operation.name, fault, str(call))
    if KILL in kinds and writes and writes[-1] + 1 < len(expected.calls):
        last = f"after {expected.calls[writes[-1]]}"
        yield Point(library.name, operation.name, Fault(writes[-1] + 1, KILL), last)


def run(
    library: Library, operation: Operation, expected: Expected, point: Point
) -> Outcome:
    """Run the operation with the fault, compare, take the work up again, compare."""
    with library.copy():
        script = Script(point.fault)
        victim = serving(library, operation, script)
        live = _live_processes(library)
        watcher = live["watching process"]
        script.after_write = lambda: shown(watcher)
        with script.counting():
            _attempt(operation, victim)
        if len(script.calls) <= point.fault.number:
            return Outcome(point, ("this call was not made",))
        if script.is_dead:
            return _compared(library, operation, expected, point, live, watcher)
        live["same process"] = victim
        return _compared(library, operation, expected, point, live, victim)


def run_in_a_process(
    library: Library, operation: Operation, expected: Expected, point: Point
) -> Outcome:
    """Do the same as `run`, with a process of its own that kills itself."""
    with library.copy():
        live = _live_processes(library)
        number = str(point.fault.number)
        arguments = [
            "-m",
            "tests.faults.victim",
            library.folder,
            operation.name,
            number,
        ]
        ended = subprocess.run(  # our own module
            [sys.executable, *map(str, arguments)], cwd=ROOT, check=False
        )
        assert ended.returncode == -signal.SIGKILL
        survivor = live["watching process"]
        return _compared(library, operation, expected, point, live, survivor)


def _live_processes(library: Library) -> dict[str, Site]:
    """Return processes that have read and answered before the fault, by their names."""
    live = {
        name: library.open(Script()) for name in ("watching process", "other process")
    }
    for site in live.values():
        shown(site)
        answered(site)
    return live


def _compared(
    library: Library,
    operation: Operation,
    expected: Expected,
    point: Point,
    live: Mapping[str, Site],
    survivor: Site,
) -> Outcome:
    problems = list(_differing(library, live, AFTERWARDS))
    recover(survivor)
    refusal = ""
    for _ in range(RETRIES):
        refusal = _attempt(operation, survivor)
        recover(survivor)
        if not refusal:
            break
    if refusal:
        problems.append(f"{AFTER_THE_RETRY}: it fails: {refusal}")
    problems += _differing(library, live, AFTER_THE_RETRY)
    problems += _lost(expected, library.open(Script(), cache=False))
    return Outcome(point, tuple(problems))


def _attempt(operation: Operation, site: Site) -> str:
    """Return why the operation ended early, "" if it did not."""
    try:
        operation.run(site)
    except (KilledError, ChatbotError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _differing(library: Library, live: Mapping[str, Site], when: str) -> Iterator[str]:
    """Yield in what a live process differs from one that is started now."""
    fresh = library.open(Script(), cache=False)
    expected = {**shown(fresh), "answer": answered(fresh)}
    for name, site in live.items():
        found = {**shown(site), "answer": answered(site)}
        for part, value in differences(expected, found):
            yield f"{when}, {name}: {part}: {value}"


def _lost(expected: Expected, fresh: Site) -> Iterator[str]:
    """Yield in what the library differs from that of an undisturbed run."""
    found = {**shown(fresh), "answer": answered(fresh)}
    calm = {**expected.shown, "answer": expected.answer}
    for part, value in differences(calm, found):
        yield f"{IN_THE_END}: {part}: {value}"
    stored = kept(fresh)
    for part, value in differences(
        {"originals": expected.kept["originals"]}, {"originals": stored["originals"]}
    ):
        yield f"{IN_THE_END}: {part}: {value}"
    for conversation in expected.kept["conversations"]:
        if conversation not in stored["conversations"]:
            yield f"{IN_THE_END}: lost the conversation {conversation}"
    for name, state in stored["jobs"]:
        if state not in DONE:
            yield f"{IN_THE_END}: the file {name} is {state}"


def differences(
    expected: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield each part that differs, with its first differing lines."""
    for part, value in expected.items():
        if found[part] != value:
            lines = (
                line
                for line in difflib.ndiff(_lines(value), _lines(found[part]))
                if line.startswith(("+ ", "- "))
            )
            yield part, " ".join(list(lines)[:DIFFERING_LINES])


def _lines(value: Any) -> Sequence[str]:
    return json.dumps(value, indent=1, default=str, ensure_ascii=False).splitlines()

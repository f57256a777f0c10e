"""Measure how the package is built: lines, files, names, and the way of one question
and of one upload.

    python -m benchmarks house [ROOT] [--json | --check | --lower]

ROOT is a checkout (default: this one). Only its public entries are used, so that one
script measures an old and a new tree. ``--check`` compares with the limits in
`house.toml` and exits with 1 where a figure is worse. ``--lower`` writes lower limits
for the figures that have become better; a limit is raised by hand only, for what an
issue grants.

- lines: all lines of `chatbot/**/*.py`, `tests/**/*.py`, and of our own scripts below
  `static/` (not `vendor/`).
- settings: names in `.env.example`, which a test keeps equal to the settings.
- class names used twice: public classes of module level whose name is defined in more
  than one file.
- once-used helpers: private functions and methods of at most eight lines whose name
  occurs once in their file, apart from the definition.
- import chain: the modules on the longest path of imports within the package, ``A
  imports B`` counted where the import runs when A is imported (not in functions, not
  under TYPE_CHECKING). A cycle counts once.
- a question: one keyless ``POST /query`` in this process over the sample reports, after
  one question of other text. An upload: one Markdown report until its job is done.
  Files, functions (file and qualified name) and changes of file (consecutive calls of
  one thread that lie in different files) are those of `chatbot/`, in all threads; the
  depth is the most frames of `chatbot/` on one stack. The least of three runs counts:
  threads that only tick do not.
"""

from __future__ import annotations

import argparse
import ast
import gc
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
LIMITS = ROOT / "benchmarks" / "house.toml"
HELPER_LINES = 8
READY_SECONDS = 300.0
WARM_UP = "What is the population?"
QUESTION = "What is the population growth rate?"
SCOPES = tuple(
    {"country_name": [country], "year": [2023]}
    for country in ("Kenya", "Somalia", "Sudan")
)
REPORT = (
    "# Wells of {0}\n\n## Water\n\nIn 2024 the district of {0} counted 118 wells.\n"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Figures = dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 where a figure is worse than its limit",
    )
    parser.add_argument(
        "--lower",
        action="store_true",
        help="lower the limits of the figures that are better",
    )
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if arguments.trace:
        print(json.dumps(trace(root)))
        return
    figures = measure(root)
    print(json.dumps(figures, indent=1) if arguments.json else as_text(figures))
    if arguments.check:
        problems = worse(figures, limits())
        print("\n".join(problems), file=sys.stderr)
        raise SystemExit(bool(problems))
    if arguments.lower:
        lowered = {name: min(limit, figures[name]) for name, limit in limits().items()}
        LIMITS.write_text(
            with_limits(LIMITS.read_text(encoding="utf-8"), lowered), encoding="utf-8"
        )


def measure(root: Path) -> Figures:
    """Return every figure of a checkout by its name, in the order of `house.toml`."""
    return {**source_figures(root), **traced_figures(root)}


def limits() -> Figures:
    """Return the figures that may not be exceeded."""
    return tomllib.loads(LIMITS.read_text(encoding="utf-8"))["limits"]


def worse(figures: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """Return one line for each figure above its limit, and for each name that only one
    side has.

    Changes of file, and functions of an upload, may lie 5 % above theirs: the threads
    that take part in them wait for each other differently in each run.
    """
    varying = ("question_file_changes", "upload_file_changes", "upload_functions")
    slack = {
        name: limit // 20 if name in varying else 0 for name, limit in limits.items()
    }
    return [
        *(
            (
                f"{name}: {figures[name]:,} is above the limit of {limits[name]:,} "
                "(benchmarks/house.toml)"
            )
            for name in figures
            if name in limits and figures[name] > limits[name] + slack[name]
        ),
        *(
            f"{name}: measured, but without a limit"
            for name in figures
            if name not in limits
        ),
        *(
            f"{name}: has a limit, but is not measured"
            for name in limits
            if name not in figures
        ),
    ]


def with_limits(text: str, limits: Mapping[str, int]) -> str:
    """Return the text of `house.toml` with other limits; comments stay."""
    for name, limit in limits.items():
        text = re.sub(rf"^{name} = \d+", f"{name} = {limit}", text, flags=re.MULTILINE)
    return text


def as_text(figures: Mapping[str, int]) -> str:
    bounds = limits()
    rows = [
        f"{name:<24} {value:>8,} {bounds.get(name, 0):>8,}"
        for name, value in figures.items()
    ]
    return "\n".join([f"{'':<24} {'now':>8} {'limit':>8}", *rows])


def source_figures(root: Path) -> Figures:
    """Return what the files say without running."""
    package = root / "chatbot"
    texts = {path: path.read_text(encoding="utf-8") for path in python_files(package)}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    scripts = (
        path for path in (root / "static").rglob("*.js") if "vendor" not in path.parts
    )
    settings = re.findall(
        r"^[A-Z][A-Z_0-9]*=",
        (root / ".env.example").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {
        "lines": lines_of(texts),
        "files": len(texts),
        "test_lines": lines_of(python_files(root / "tests")),
        "script_lines": lines_of(scripts),
        "settings": len(set(settings)),
        "class_names_twice": sum(count > 1 for count in classes.values()),
        "once_used_helpers": sum(once_used_helpers(tree) for tree in trees.values()),
        "import_chain": len(longest_chain(import_graph(package, trees))),
    }


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def lines_of(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def once_used_helpers(tree: ast.Module) -> int:
    """Count the short private functions whose name occurs once in the file."""
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return sum(
        node.name.startswith("_")
        and not node.name.endswith("__")
        and (node.end_lineno or node.lineno) - node.lineno < HELPER_LINES
        and uses[node.name] == 1
        for node in ast.walk(tree)
        if isinstance(node, Function)
    )


def module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(
    package: Path, trees: Mapping[Path, ast.Module]
) -> dict[str, set[str]]:
    """Return, for each module, those of the package that it imports while it is
    imported itself.
    """
    modules = {module_name(package, path): path for path in trees}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        here = (
            module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        )
        graph[module] = {
            target
            for node in imports_of(trees[path])
            for target in targets(node, here, modules)
            if target != module
        }
    return graph


def imports_of(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run at import time: not in functions, not under
    TYPE_CHECKING.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from (found for other in child.orelse for found in imports_of(other))
        elif not isinstance(child, Function | ast.Lambda):
            yield from imports_of(child)


def targets(
    node: ast.Import | ast.ImportFrom, here: list[str], modules: Mapping[str, Path]
) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
        return
    base = here[: len(here) - node.level + 1] if node.level else []
    source = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{source}.{alias.name}"
        if inner in modules or source in modules:
            yield inner if inner in modules else source


def longest_chain(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules on the longest path, from the importer to the imported. A
    cycle is entered once.
    """
    best: dict[str, list[str]] = {}
    entered: set[str] = set()

    def chain(module: str) -> list[str]:
        if module not in best:
            entered.add(module)
            rests = [
                chain(target)
                for target in sorted(graph[module])
                if target in best or target not in entered
            ]
            best[module] = [module, *max(rests, key=len, default=[])]
        return best[module]

    return max((chain(module) for module in sorted(graph)), key=len)


def traced_figures(root: Path) -> Figures:
    """Run `trace` in a process of its own, which imports the package of ``root`` and
    reads nobody's settings.
    """
    inherited = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **inherited,
            "PYTHON_DOTENV_DISABLED": "1",
            "DATA_DIR": f"{folder}/data",
            "LOG_LEVEL": "ERROR",
        }
        run = subprocess.run(
            [sys.executable, __file__, str(root), "--trace"],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode:
        raise SystemExit(run.stderr)
    figures: Figures = json.loads(run.stdout.splitlines()[-1])
    return figures


def trace(root: Path) -> Figures:
    # Python 3.11.2 crashes where garbage is collected while a generator that is
    # profiled starts.
    gc.disable()
    sys.path.insert(0, str(root))
    profile = Profile(str(root / "chatbot") + os.sep)
    from chatbot.app.factory import close_app, create_app

    # The sample reports are read before threads are profiled, which takes several times
    # as long.
    app = create_app()
    wait_until_ready(app.test_client())
    close_app(app)
    threading.setprofile(profile.hook)
    app = create_app()
    client = app.test_client()
    wait_until_ready(client)
    client.post("/query", json={"query": WARM_UP, "filters": SCOPES[0]})
    upload(client, "warm")
    sys.setprofile(profile.hook)
    questions = [
        profile.figures("question", lambda scope=scope: ask(client, scope))
        for scope in SCOPES
    ]
    uploads = [
        profile.figures("upload", lambda name=name: upload(client, name))
        for name in ("Lamu", "Wajir", "Voi")
    ]
    sys.setprofile(None)
    close_app(app)
    return least(questions) | least(uploads)


def least(runs: list[Figures]) -> Figures:
    return {name: min(run[name] for run in runs) for name in runs[0]}


def ask(client: Any, scope: Mapping[str, Any]) -> None:
    reply = client.post("/query", json={"query": QUESTION, "filters": scope})
    if reply.status_code != 200 or not reply.json["citations"]:
        raise SystemExit(f"The question failed: {reply.status_code} {reply.text}")


def upload(client: Any, name: str) -> None:
    file = (io.BytesIO(REPORT.format(name).encode()), f"{name}.md")
    started = client.post(
        "/api/documents", data={"files": file}, content_type="multipart/form-data"
    )
    if started.status_code != 202:
        raise SystemExit(f"The upload failed: {started.status_code} {started.text}")
    deadline = time.monotonic() + READY_SECONDS
    state = started.json
    while state.get("state") != "done":
        if time.monotonic() > deadline or state.get("state") in ("failed", "cancelled"):
            raise SystemExit(f"The upload failed: {state}")
        time.sleep(0.1)
        state = client.get(f"/api/ingestions/{started.json['ingestion_id']}").json


def wait_until_ready(client: Any) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        state = client.get("/ready").json
        samples = state["sample_data"]
        if (
            state["ready"]
            and not state["ingesting"]
            and 0 < samples["total"] == samples["ready"]
        ):
            return
        time.sleep(0.2)
    raise SystemExit(f"Not ready within {READY_SECONDS:.0f} s: {state}")


class Profile:
    """The calls of functions below a folder, by thread, in their order."""

    def __init__(self, prefix: str) -> None:
        self._recording = False
        self._prefix = prefix
        self._calls: dict[int, list[CodeType]] = defaultdict(list)
        self._depth = 0

    def hook(self, frame: FrameType, event: str, argument: object) -> None:
        if not self._recording or event != "call" or not self._inside(frame):
            return
        self._calls[threading.get_ident()].append(frame.f_code)
        depth, above = 0, frame
        while above is not None:
            depth += self._inside(above)
            above = above.f_back  # type: ignore[assignment]
        self._depth = max(self._depth, depth)

    def _inside(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self._prefix)

    def figures(self, name: str, run: Callable[[], None]) -> Figures:
        """Return the figures of one run, each with ``name`` before it."""
        self._calls, self._depth, self._recording = defaultdict(list), 0, True
        run()
        self._recording = False
        codes = [code for calls in self._calls.values() for code in calls]
        changes = sum(
            before.co_filename != after.co_filename
            for calls in self._calls.values()
            for before, after in pairwise(calls)
        )
        return {
            f"{name}_files": len({code.co_filename for code in codes}),
            f"{name}_functions": len(
                {(code.co_filename, code.co_qualname) for code in codes}
            ),
            f"{name}_depth": self._depth,
            f"{name}_file_changes": changes,
        }


if __name__ == "__main__":
    main()

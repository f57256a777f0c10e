"""How the package is built: files, lines, functions, imports and names, and what one question runs through.

    python -m benchmarks.house [ROOT] [--json]

ROOT is a checkout (default: this one); only its public entries are used, so an old and a new tree can be measured by
the same script. What is counted:

- lines: all lines of `chatbot/**/*.py`; a function's lines: from `def` to its end, methods and inner functions too.
- import chain: the modules on the longest path of imports within the package, `A imports B` counted where the import
  runs when A is imported (not in functions, not under TYPE_CHECKING; `from .b import name` leads to the module `b`).
  Modules that import each other would count as one.
- parts: files and folders directly in `chatbot/`, without `__init__` and `__main__`.
- public names: functions, classes and methods of module level without a leading underscore, not counting `__init__`
  files' imports; participles: functions of module level, of one word in -ed (or of a short list of irregular ones).
- fragments: files under 120 lines that exactly one other module imports.
- the question: one keyless `POST /query` in this process over the sample reports, after one question of other text.
  Files, functions (file and qualified name), and changes of file (consecutive calls of one thread that lie in
  different files) are those of `chatbot/`, in all threads; the depth is the most frames of `chatbot/` on one stack.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

FRAGMENT = 120
WARM_UP = "What is the population?"
QUESTION = "What is the population growth rate?"
FILTERS = {"country_name": ["Kenya"], "year": [2023]}
IRREGULAR = {
    "begun", "bound", "brought", "built", "done", "drawn", "found", "given", "gone", "heard", "held", "kept",
    "known", "left", "lost", "made", "meant", "said", "seen", "sent", "shown", "taken", "told", "understood", "written",
}  # fmt: skip
"""Past participles without -ed, but for those that are imperatives as well (cut, put, read, split)."""
NO_PARTICIPLES = {"embed", "need", "feed", "seed", "speed", "exceed", "proceed"}
Tree = ast.Module
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).parent.parent)
    parser.add_argument("--json", action="store_true", help="for comparing and keeping")
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if arguments.trace:
        print(json.dumps(trace(root)))
        return
    report = {**sources(root / "chatbot"), "question": traced(root)}
    print(json.dumps(report, indent=1) if arguments.json else as_text(report))


def sources(package: Path) -> dict[str, Any]:
    """What the files of the package say without running."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    lengths = [length for tree in trees.values() for length in function_lengths(tree)]
    imports = import_graph(package, trees)
    importers = Counter(target for targets in imports.values() for target in targets)
    files_of = {module_name(package, path): path for path in texts}
    public = [(name, node) for tree in trees.values() for name, node in public_names(tree)]
    bare = [name for name, node in public if ast.get_docstring(node) is None]
    folders: dict[str, list[int]] = defaultdict(list)
    for path, count in lines.items():
        inner = path.relative_to(package).parts
        folders[inner[0] if len(inner) > 1 else "."].append(count)
    return {
        "packages": {name: {"files": len(found), "lines": sum(found)} for name, found in sorted(folders.items())},
        "files": len(lines),
        "lines": sum(lines.values()),
        "median_lines": statistics.median(lines.values()),
        "function_lines_p90": statistics.quantiles(lengths, n=10)[-1],
        "parts": len({path.relative_to(package).parts[0] for path in texts} - {"__init__.py", "__main__.py"}),
        "import_chain": longest_chain(imports),
        "public_names": len(public),
        "without_docstring": round(len(bare) / len(public), 3),
        "participles": sorted(
            node.name
            for tree in trees.values()
            for node in tree.body
            if isinstance(node, Function) and is_participle(node.name)
        ),
        "fragments": sum(lines[path] < FRAGMENT and importers[name] == 1 for name, path in files_of.items()),
    }


def function_lengths(tree: Tree) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def public_names(tree: Tree) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Functions and classes of the module, and the methods of its public classes."""
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                inner = (one for one in node.body if isinstance(one, Function) and not one.name.startswith("_"))
                yield from ((one.name, one) for one in inner)


def is_participle(name: str) -> bool:
    regular = "_" not in name and name.endswith("ed") and name not in NO_PARTICIPLES
    return name in IRREGULAR or regular


def module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(package: Path, trees: Mapping[Path, Tree]) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports while it is imported itself."""
    modules = {module_name(package, path): path for path in trees}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        here = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        graph[module] = {
            target for node in imports_of(trees[path]) for target in targets(node, here, modules) if target != module
        }
    return graph


def imports_of(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those that run at import: not in functions, not under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from (found for other in child.orelse for found in imports_of(other))
        elif not isinstance(child, Function | ast.Lambda):
            yield from imports_of(child)


def targets(node: ast.Import | ast.ImportFrom, here: list[str], modules: Mapping[str, Path]) -> Iterator[str]:
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
    """The modules on the longest path, from the importer to the imported. A cycle is entered once."""
    best: dict[str, list[str]] = {}
    entered: set[str] = set()

    def chain(module: str) -> list[str]:
        if module not in best:
            entered.add(module)
            rests = [chain(target) for target in sorted(graph[module]) if target in best or target not in entered]
            best[module] = [module, *max(rests, key=len, default=[])]
        return best[module]

    return max((chain(module) for module in sorted(graph)), key=len)


def traced(root: Path) -> dict[str, int]:
    """`trace` in a process of its own, which imports the package of ``root`` and nobody's settings."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**kept, "PYTHON_DOTENV_DISABLED": "1", "DATA_DIR": f"{folder}/data", "LOG_LEVEL": "ERROR"}
        run = subprocess.run(
            [sys.executable, __file__, str(root), "--trace"],
            env=environment, cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if run.returncode:
        raise SystemExit(run.stderr)
    counts: dict[str, int] = json.loads(run.stdout.splitlines()[-1])
    return counts


def trace(root: Path) -> dict[str, int]:
    sys.path.insert(0, str(root))
    profile = Profile(str(root / "chatbot") + os.sep)
    threading.setprofile(profile.hook)
    from chatbot.factory import close_app, create_app

    app = create_app()
    client = app.test_client()
    wait_until_ready(client)
    client.post("/query", json={"query": WARM_UP, "filters": FILTERS})
    sys.setprofile(profile.hook)
    profile.recording = True
    reply = client.post("/query", json={"query": QUESTION, "filters": FILTERS})
    profile.recording = False
    sys.setprofile(None)
    close_app(app)
    if reply.status_code != 200 or not reply.json["citations"]:
        raise SystemExit(f"The question failed: {reply.status_code} {reply.text}")
    return profile.counts()


def wait_until_ready(client: Any, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = client.get("/ready").json
        samples = state["sample_data"]
        if state["ready"] and not state["ingesting"] and 0 < samples["total"] == samples["ready"]:
            return
        time.sleep(0.2)
    raise SystemExit(f"Not ready within {seconds:.0f} s: {state}")


class Profile:
    """The calls of functions below a folder, by thread, in their order."""

    def __init__(self, prefix: str) -> None:
        self.recording = False
        self._prefix = prefix
        self._calls: dict[int, list[CodeType]] = defaultdict(list)
        self._depth = 0

    def hook(self, frame: FrameType, event: str, argument: object) -> None:
        if not self.recording or event != "call" or not self._inside(frame):
            return
        self._calls[threading.get_ident()].append(frame.f_code)
        depth, above = 0, frame
        while above is not None:
            depth += self._inside(above)
            above = above.f_back  # type: ignore[assignment]
        self._depth = max(self._depth, depth)

    def _inside(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self._prefix)

    def counts(self) -> dict[str, int]:
        codes = [code for calls in self._calls.values() for code in calls]
        changes = sum(
            before.co_filename != after.co_filename
            for calls in self._calls.values()
            for before, after in pairwise(calls)
        )
        return {
            "files": len({code.co_filename for code in codes}),
            "functions": len({(code.co_filename, code.co_qualname) for code in codes}),
            "file_changes": changes,
            "depth": self._depth,
        }


def as_text(report: Mapping[str, Any]) -> str:
    packages: Mapping[str, Mapping[str, int]] = report["packages"]
    rows = [f"{name:<16} {found['files']:>4} files {found['lines']:>6} lines" for name, found in packages.items()]
    chain, question = report["import_chain"], report["question"]
    rows += [
        "",
        f"files {report['files']}, lines {report['lines']}, median file {report['median_lines']:g} lines",
        f"function length, 90th percentile: {report['function_lines_p90']:g} lines",
        f"parts at the top: {report['parts']}",
        f"longest import chain: {len(chain)} modules: {' > '.join(name.removeprefix('chatbot.') for name in chain)}",
        f"public names: {report['public_names']}, {report['without_docstring']:.1%} without a docstring",
        f"participles: {len(report['participles'])}: {' '.join(report['participles'])}",
        f"files under {FRAGMENT} lines with one importer: {report['fragments']}",
        f"one question: {question['files']} files, {question['functions']} functions, "
        f"{question['file_changes']} changes of file, depth {question['depth']}",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main()

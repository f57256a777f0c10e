"""Measure how the package is written, and compare it with its limits.

    python -m benchmarks house [ROOT] [--json | --check | --lower | --long]

ROOT is a checkout (default: this one); one script measures an old and a new tree.
``--check`` exits with 1 where a figure is above its limit in `house.toml`. ``--lower``
writes lower limits for the figures that have become better. What has no limit is
reported.

- nodes: syntax nodes of `chatbot/`, in all, and of the core and of each extra apart.
- nodes_a_line: nodes a line of code (not blank, comment or docstring).
- functions_of_15_branches, most_branches: each `if`, loop, `and`, `or`, conditional
  expression, `except`, `case`, comprehension and its `if`. Those of nested functions
  count to the outer one.
- A thousand lines of code: assignments of several unrelated names (`a, b = x, y`);
  calls of `map`, `filter`, `partial`, `attrgetter` and the like; conditional
  expressions; comprehensions with two `for`.
- numeric_constants: constants of modules whose value is a bare number.
- unformatted: `fmt: skip` and `fmt: off`.
- domain_exports: names that `from chatbot.domain import *` gives.
- settings: names in `.env.example`, which a test keeps equal to the settings.
- class_names_twice: public classes of module level whose name is defined in more than
  one file.
- import_chain: the modules on the longest path of imports within the package, counted
  where the import runs at import time. A cycle counts once.
- A first question of a process without a chat model, one with it, a deep one, and an
  upload of one Markdown file: the files and functions of `chatbot/` that they run
  through, in all threads, and the most of its frames on one stack.

What formatting changes is measured on a copy set by `ruff format` at 88 columns, so
that packing lines improves nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path

from benchmarks import syntax_counts, traced_calls

ROOT = Path(__file__).parent.parent
LIMITS = ROOT / "benchmarks" / "house.toml"
Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--check",
        action="store_true",
        help="measure what has a limit; exit with 1 where a figure is above it",
    )
    parser.add_argument(
        "--lower",
        action="store_true",
        help="lower the limits of the figures that are better",
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="list the functions of 15 branches or more instead",
    )
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    figures, branches_of_long = source_figures(root)
    if arguments.long:
        for name, branches in sorted(branches_of_long.items(), key=itemgetter(1)):
            print(f"{branches:>3} {name}")
        return
    if not arguments.check and not arguments.lower:
        figures |= traced_calls.figures(root)
    print(json.dumps(figures, indent=1) if arguments.json else as_text(figures))
    if arguments.check:
        problems = above_limits(figures, limits())
        print("\n".join(problems), file=sys.stderr)
        raise SystemExit(bool(problems))
    if arguments.lower:
        lowered = {name: min(limit, figures[name]) for name, limit in limits().items()}
        text = with_limits(LIMITS.read_text(encoding="utf-8"), lowered)
        LIMITS.write_text(text, encoding="utf-8")


def limits() -> Figures:
    """Return the figures that may not be exceeded."""
    return tomllib.loads(LIMITS.read_text(encoding="utf-8"))["limits"]


def above_limits(
    figures: Mapping[str, float], limits: Mapping[str, float]
) -> list[str]:
    """Return one line for each figure above its limit, and for each limit whose figure
    is not measured.
    """
    problems = []
    for name, limit in limits.items():
        if name not in figures:
            problems.append(f"{name}: has a limit, but is not measured")
        elif figures[name] > limit:
            problems.append(
                f"{name}: {figures[name]:,} is above the limit of {limit:,} "
                "(benchmarks/house.toml)"
            )
    return problems


def with_limits(text: str, limits: Mapping[str, float]) -> str:
    """Return the text of `house.toml` with other limits; comments stay."""
    for name, limit in limits.items():
        text = re.sub(
            rf"^{name} = [\d_.]+", f"{name} = {limit}", text, flags=re.MULTILINE
        )
    return text


def as_text(figures: Mapping[str, float]) -> str:
    """Return a table of the figures and their limits."""
    bounds = limits()
    rows = [f"{'':<34} {'now':>9} {'limit':>9}"]
    for name, value in figures.items():
        limit = f"{bounds[name]:,}" if name in bounds else ""
        rows.append(f"{name:<34} {value:>9,} {limit:>9}".rstrip())
    return "\n".join(rows)


def source_figures(root: Path) -> tuple[Figures, dict[str, int]]:
    """Return what the files say without running, and the branches of the functions that
    have too many.
    """
    package = root / "chatbot"
    counts = syntax_counts.count(package)
    alike = syntax_counts.count_set_alike(package)
    figures: Figures = {"nodes": counts.nodes}
    for part, nodes in sorted(counts.nodes_of_part.items()):
        figures[f"nodes_of_{part}"] = nodes
    figures |= {
        "nodes_a_line": round(alike.nodes / alike.code_lines, 1),
        "functions_of_15_branches": len(counts.branches_of_long),
        "most_branches": max(counts.branches_of_long.values(), default=0),
        "unrelated_assignments_per_1000": alike.per_thousand_lines(
            alike.unrelated_assignments
        ),
        "functional_calls_per_1000": alike.per_thousand_lines(alike.functional_calls),
        "conditional_expressions_per_1000": alike.per_thousand_lines(
            alike.conditional_expressions
        ),
        "double_comprehensions_per_1000": alike.per_thousand_lines(
            alike.double_comprehensions
        ),
        "numeric_constants": counts.numeric_constants,
        "unformatted": counts.unformatted,
        "domain_exports": len(
            syntax_counts.exported_names(package / "domain" / "__init__.py")
        ),
        "settings": count_settings(root),
        **graph_figures(package),
        "files": counts.files,
        "lines": counts.lines,
        "code_lines": counts.code_lines,
    }
    return figures, counts.branches_of_long


def count_settings(root: Path) -> int:
    example = (root / ".env.example").read_text(encoding="utf-8")
    return len(set(re.findall(r"^[A-Z][A-Z_0-9]*=", example, re.MULTILINE)))


def graph_figures(package: Path) -> Figures:
    """Return what the modules of a package say only together."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }
    classes = Counter(name for tree in trees.values() for name in public_classes(tree))
    graph = syntax_counts.import_graph(package, trees)
    return {
        "class_names_twice": sum(count > 1 for count in classes.values()),
        "import_chain": len(syntax_counts.longest_chain(graph)),
    }


def public_classes(tree: ast.Module) -> list[str]:
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


if __name__ == "__main__":
    main()

"""Count the syntax of Python files: what formatting cannot change."""

from __future__ import annotations

import ast
import io
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LINE_LENGTH = 88
MAX_BRANCHES = 14
"""A function with more is counted as one that is too long to follow."""
BRANCHES = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.IfExp,
    ast.ExceptHandler,
    ast.match_case,
    ast.comprehension,
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONAL_MODULES = {"itertools", "functools", "operator", "chain"}
FUNCTIONAL_NAMES = {
    "accumulate",
    "attrgetter",
    "chain",
    "filter",
    "filterfalse",
    "from_iterable",
    "islice",
    "itemgetter",
    "map",
    "methodcaller",
    "partial",
    "reduce",
    "starmap",
    "zip_longest",
}


@dataclass(slots=True)
class Counts:
    """The sums over some files. ``branches_of_long`` are those of each function that
    has more than `MAX_BRANCHES`, by its file and name.
    """

    files: int = 0
    lines: int = 0
    code_lines: int = 0
    nodes: int = 0
    branches_of_long: dict[str, int] = field(default_factory=dict)
    unrelated_assignments: int = 0
    functional_calls: int = 0
    conditional_expressions: int = 0
    double_comprehensions: int = 0
    numeric_constants: int = 0
    unformatted: int = 0
    nodes_of_part: dict[str, int] = field(default_factory=dict)

    def add(self, path: Path, part: str) -> None:
        """Add the counts of one file, its nodes also to those of ``part``."""
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.files += 1
        self.lines += len(text.splitlines())
        self.code_lines += count_code_lines(text, tree)
        self.unformatted += count_unformatted(text)
        self.numeric_constants += sum(is_numeric(node) for node in tree.body)
        nodes = 0
        for node in ast.walk(tree):
            nodes += 1
            self._add_node(node, path)
        self.nodes += nodes
        self.nodes_of_part[part] = self.nodes_of_part.get(part, 0) + nodes

    def _add_node(self, node: ast.AST, path: Path) -> None:
        self.unrelated_assignments += assigns_unrelated_names(node)
        self.functional_calls += is_functional_call(node)
        self.conditional_expressions += isinstance(node, ast.IfExp)
        if isinstance(node, COMPREHENSIONS):
            self.double_comprehensions += len(node.generators) > 1
        if isinstance(node, FUNCTIONS):
            branches = count_branches(node)
            if branches > MAX_BRANCHES:
                name = f"{path.parent.name}/{path.name}:{node.lineno} {node.name}"
                self.branches_of_long[name] = branches

    def per_thousand_lines(self, count: int) -> float:
        return round(1000 * count / max(self.code_lines, 1), 1)


def count(package: Path) -> Counts:
    """Return the counts of a package as it stands."""
    counts = Counts()
    for path in sorted(package.rglob("*.py")):
        counts.add(path, part_of(path.relative_to(package)))
    return counts


def count_set_alike(package: Path) -> Counts:
    """Return the counts of a copy that is formatted with one width and without regard
    for trailing commas, so that two trees compare however each was set.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, package.name)
        shutil.copytree(package, copy, ignore=without_other_files)
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--quiet"]
        command += ["--line-length", str(LINE_LENGTH)]
        command += ["--config", "format.skip-magic-trailing-comma=true", str(copy)]
        subprocess.run(command, check=True)
        return count(copy)


def without_other_files(folder: str, names: list[str]) -> list[str]:
    """Return what of a folder is not copied: files that are not Python's."""
    return [
        name
        for name in names
        if not name.endswith(".py") and not Path(folder, name).is_dir()
    ]


def part_of(path: Path) -> str:
    """Return ``core``, or the name of the extra that a file of the package is part
    of.
    """
    if path.parts[0] != "extras" or path.parts[1] == "__init__.py":
        return "core"
    return Path(path.parts[1]).stem


def count_code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines that are not blank, a comment or part of a docstring."""
    docstrings = docstring_lines(tree)
    total = 0
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and number not in docstrings:
            total += 1
    return total


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of docstrings, those below constants and fields
    among them.
    """
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            continue
        for statement in node.body:
            if is_text(statement):
                end = statement.end_lineno or statement.lineno
                lines.update(range(statement.lineno, end + 1))
    return lines


def is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def count_unformatted(text: str) -> int:
    """Count the comments that keep the formatter away."""
    if "fmt:" not in text:  # saves the reading of tokens, which takes longest
        return 0
    comments = (
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    )
    return sum("fmt: skip" in comment or "fmt: off" in comment for comment in comments)


def is_numeric(statement: ast.stmt) -> bool:
    """Tell whether a statement of a module gives a name to a bare number."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    value = statement.value
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if not isinstance(value, ast.Constant) or isinstance(value.value, bool):
        return False
    return isinstance(value.value, int | float)


def count_branches(function: ast.AST) -> int:
    """Count the branches of a function and of the functions inside it, but not those of
    classes inside it.
    """
    total = 0
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef):
            continue
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.comprehension):
            total += len(node.ifs)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        pending += ast.iter_child_nodes(node)
    return total


def assigns_unrelated_names(node: ast.AST) -> bool:
    """Tell whether a node is ``a, b = x, y``. A swap, whose names are all on both
    sides, is none.
    """
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return False
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    assigned = names_in(target)
    shared = assigned & names_in(node.value)
    return not shared or shared != assigned


def names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def is_functional_call(node: ast.AST) -> bool:
    """Tell whether a node calls one of `FUNCTIONAL_NAMES`, by its bare name or by that
    of its module.
    """
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in FUNCTIONAL_NAMES
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        in_module = called.value.id in FUNCTIONAL_MODULES
        return in_module and called.attr in FUNCTIONAL_NAMES
    return False


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
        folder = module.split(".")
        if path.name != "__init__.py":
            folder.pop()
        graph[module] = set()
        for node in imports_of(trees[path]):
            graph[module].update(imported_modules(node, folder, modules))
        graph[module].discard(module)
    return graph


def imports_of(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run at import time: not in functions, not under
    TYPE_CHECKING.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from imports_of(other)
        elif not isinstance(child, (*FUNCTIONS, ast.Lambda)):
            yield from imports_of(child)


def imported_modules(
    node: ast.Import | ast.ImportFrom, folder: list[str], modules: Iterable[str]
) -> Iterator[str]:
    """Yield the modules of the package that one import names. ``folder`` is the package
    of the module that imports.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
        return
    source = ".".join(imported_package(node, folder))
    for alias in node.names:
        inner = f"{source}.{alias.name}"
        if inner in modules:
            yield inner
        elif source in modules:
            yield source


def imported_package(node: ast.ImportFrom, folder: list[str]) -> list[str]:
    """Return the parts of the name after ``from``, made absolute."""
    base = folder[: len(folder) - node.level + 1] if node.level else []
    return [*base, *([node.module] if node.module else [])]


def longest_chain(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules on the longest path, from the importer to the imported. A
    cycle is entered once.
    """
    longest: dict[str, list[str]] = {}
    entered: set[str] = set()

    def chain(module: str) -> list[str]:
        if module in longest:
            return longest[module]
        entered.add(module)
        rest: list[str] = []
        for target in sorted(graph[module]):
            if target in longest or target not in entered:
                rest = max(rest, chain(target), key=len)
        longest[module] = [module, *rest]
        return longest[module]

    return max((chain(module) for module in sorted(graph)), key=len)


def exported_names(module: Path) -> set[str]:
    """Return what ``from MODULE import *`` gives. Without ``__all__`` these are all
    public names, also those that the module itself has from another one by a star, and
    that other one's name.
    """
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names |= exported_names(module.parent / f"{node.module}.py")
            names.add(node.module or "")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names |= names_in(target)
            if "__all__" in names and node.value is not None:
                return set(ast.literal_eval(node.value))
    return {name for name in names if not name.startswith("_")}

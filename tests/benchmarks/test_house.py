"""The limits of how the code is written: what is worse fails, what is better may be
written down.
"""

import ast
from pathlib import Path

import pytest

from benchmarks.house import above_limits, limits, with_limits
from benchmarks.syntax_counts import (
    count,
    count_branches,
    count_set_alike,
    exported_names,
    import_graph,
    longest_chain,
)

PACKED = """
LIMIT, NAMES = 3, ["a", "b"]
MAX_FILES = 7
first, second = NAMES, LIMIT
first, second = second, first
def lengths(texts):
    both = [len(word) for text in texts for word in text]
    return both if texts else list(map(len, NAMES))
"""


def package(folder: Path, **modules: str) -> Path:
    """Write a package with the given modules; ``extras__x`` is ``extras/x.py``."""
    root = folder / "chatbot"
    for name, text in {"__init__": "", **modules}.items():
        path = root / f"{name.replace('__', '/') if name[0] != '_' else name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_a_figure_above_its_limit_and_a_limit_without_a_figure_are_named() -> None:
    figures = {"nodes": 101, "settings": 9, "lines": 5}
    problems = above_limits(figures, {"nodes": 100, "settings": 9, "depth": 3})
    assert [problem.split(":")[0] for problem in problems] == ["nodes", "depth"]


def test_what_has_no_limit_may_be_any_size() -> None:
    assert above_limits({"lines": 10**9}, limits={}) == []


def test_lowering_keeps_the_comments_and_the_other_limits() -> None:
    text = "# why\n[limits]\nnodes = 120\nnodes_a_line = 8.3\n"
    assert with_limits(text, {"nodes_a_line": 7.9}) == (
        "# why\n[limits]\nnodes = 120\nnodes_a_line = 7.9\n"
    )
    assert limits()["nodes"] > 0


def test_packed_code_is_counted_by_its_kinds(tmp_path: Path) -> None:
    counts = count(package(tmp_path, packed=PACKED))
    assert counts.unrelated_assignments == 2
    assert counts.functional_calls == 1
    assert counts.conditional_expressions == 1
    assert counts.double_comprehensions == 1
    assert counts.numeric_constants == 1


def test_lines_that_are_joined_or_cut_change_no_figure(tmp_path: Path) -> None:
    packed = package(tmp_path / "packed", module="def total(a, b): return a + b\n")
    cut = package(
        tmp_path / "cut", module="def total(\n    a,\n    b,\n):\n    return a + b\n"
    )
    assert count(packed).code_lines < count(cut).code_lines
    assert count_set_alike(packed) == count_set_alike(cut)


def test_code_that_the_formatter_leaves_alone_is_counted(tmp_path: Path) -> None:
    kept = "A = {1:2}  # fmt: skip\nB = '# fmt: skip'\n"
    assert count(package(tmp_path, kept=kept)).unformatted == 1


def test_nodes_of_an_extra_are_counted_apart_from_the_core(tmp_path: Path) -> None:
    root = package(tmp_path, extras__mail="x = 1\n", core="x = 1\ny = 2\n")
    parts = count(root).nodes_of_part
    assert set(parts) == {"core", "mail"}
    assert 0 < parts["mail"] < parts["core"]


@pytest.mark.parametrize(
    ("body", "branches"),
    [
        ("return a and b and c", 2),
        ("return [x for x in a if x if b]", 3),
        ("if a:\n  return 1\n elif b:\n  return 2\n else:\n  return 3", 2),
        ("try:\n  return a\n except KeyError:\n  return b", 1),
        ("def inner():\n  return a if b else c\n return inner", 1),
        ("class Inner:\n  x = a if b else c\n return Inner", 0),
    ],
)
def test_each_decision_of_a_function_is_a_branch(body: str, branches: int) -> None:
    function = ast.parse(f"def outer(a, b, c):\n {body}").body[0]
    assert count_branches(function) == branches


def test_docstrings_comments_and_blank_lines_are_no_code(tmp_path: Path) -> None:
    text = '"""Two\nlines."""\n\n# why\nLIMIT = 3\n"""What it bounds."""\n'
    assert count(package(tmp_path, limits=text)).code_lines == 1


def test_a_module_with_a_list_of_exports_offers_only_these(tmp_path: Path) -> None:
    listed = "import re\n__all__ = ['find']\ndef find(): ...\ndef other(): ...\n"
    root = package(tmp_path, listed=listed, star="from .listed import *\nimport time\n")
    assert exported_names(root / "listed.py") == {"find"}
    assert exported_names(root / "star.py") == {"find", "listed", "time"}


def test_the_import_chain_leaves_out_imports_in_functions(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        first="from . import second\n",
        second="from .third import x\n",
        third="x = 1\ndef late():\n    from . import fourth\n",
        fourth="",
    )
    trees = {path: ast.parse(path.read_text()) for path in root.glob("*.py")}
    chain = longest_chain(import_graph(root, trees))
    assert chain == ["chatbot.first", "chatbot.second", "chatbot.third"]

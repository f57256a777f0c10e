"""docs/extending.md: each example is one file and one line, and then keeps the contract
of its kind.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = re.findall(
    (
        r"^\| ([a-z ]+) \| `([\w/]+)\.py` \| `(\"(\w+)\": \"[\w.]+\")` \| `([\w/.]+)` "
        r"\| \[[\w.]+\]\(([\w/.]+)\) \|$"
    ),
    (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""Kind, place without suffix, line, name, tests and example of each row of the
table.
"""
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "node_modules")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every example in its place."""
    copy = tmp_path_factory.mktemp("extended")
    for name in ("chatbot", "tests", "templates"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=NOT_COPIED, copy_function=os.link
        )
    for name in ("static", "sample_data", "docs", "pyproject.toml", ".env.example"):
        (copy / name).symlink_to(ROOT / name)
    if (
        ROOT / ".mypy_cache"
    ).is_dir():  # what is known of the rest need not be found out again
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    for _, place, line, _, _, example in RECIPES:
        shutil.copy(ROOT / "docs" / example, copy / f"{place}.py")
        add_line((copy / place).parent / "__init__.py", line)
    return copy


def add_line(registry: Path, line: str) -> None:
    """Before the first entry. The file is made anew: the copy shares its content with
    the original.
    """
    text = registry.read_text(encoding="utf-8")
    entry = re.search(r"^( +)\"\w+\": \"chatbot\.", text, re.MULTILINE)
    assert entry is not None, registry
    registry.unlink()
    registry.write_text(
        f"{text[: entry.start()]}{entry[1]}{line},\n{text[entry.start() :]}",
        encoding="utf-8",
    )


def test_there_is_a_recipe_for_each_kind_and_an_example_for_each_recipe() -> None:
    assert len(RECIPES) == len({kind for kind, *_ in RECIPES}) == 9
    assert {Path(example).name for *_, example in RECIPES} == {
        path.name for path in (ROOT / "docs/examples/adapters").glob("*.py")
    }


@pytest.mark.nightly
def test_every_example_keeps_the_contract_of_its_kind(extended: Path) -> None:
    suites = [tests for *_, tests, _ in RECIPES]
    names = " or ".join(name for *_, name, _, _ in RECIPES)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        names,
        *suites,
    ]
    run = subprocess.run(
        command, cwd=extended, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]


@pytest.mark.nightly
def test_every_example_is_typed(extended: Path) -> None:
    files = [f"{place}.py" for _, place, *_ in RECIPES]
    command = [sys.executable, "-m", "mypy", *files]
    run = subprocess.run(
        command, cwd=extended, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout

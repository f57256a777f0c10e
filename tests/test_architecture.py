"""The layers, checked on the syntax trees: a lower part never imports a higher one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "chatbot"
LAYERS = (
    ("schema", "errors"),
    (
        "protocols",
        "settings",
        "settings_types",
        "presets",
        "registry",
        "prompts",
        "text",
        "countries",
        "cancellation",
        "request",
        "validation",
        "scores",
        "shipped",
        "model_output",
        "logs",
        "words",
    ),
    ("database", "openai_client"),
    (
        "stores",
        "embedders",
        "chat_models",
        "rerankers",
        "loaders",
        "chunkers",
        "caches",
        "fetching",
        "repositories",
    ),
    ("questions", "retrieval", "grounding", "ingestion", "evaluation"),
    ("jobs", "agents"),
    ("conversation",),
    ("services", "migration"),
    ("doctor", "mcp", "web", "cli", "factory", "similarity", "__main__"),
)
"""Lowest first. Parts of one layer may import each other, adapters (the fourth row) may not."""
RANKS = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
ADAPTERS = LAYERS[3]
ALLOWED_IN = {
    "flask": ("web/", "cli/", "factory.py"),
    "flask_cors": ("web/", "cli/", "factory.py"),
    "pymongo": ("database/",),
    "bson": ("database/",),
    "psycopg": ("stores/pgvector/",),
    "pgvector": ("stores/pgvector/",),
    "openai": ("openai_client.py", "embedders/openai.py", "chat_models/openai.py"),
    "httpcore2": ("fetching/",),
    "dotenv": ("settings.py",),
}
"""Foreign packages, and the only places that may import them."""
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
_MODULE_NAME = re.compile(r"chatbot(\.\w+)+(:\w+)?")


def violations(package: Path) -> list[str]:
    """Every broken rule below ``package`` as "path:line: what", in file order."""
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = path.relative_to(package)
        for line, problem in sorted(_problems(place, tree)):
            found.append(f"{package.name}/{place.as_posix()}:{line}: {problem}")
    return found


def _problems(place: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    part = place.parts[0].removesuffix(".py")
    if part not in RANKS and part != "__init__":
        yield 1, f"{part} is in no layer"
    for node in _nodes(tree):
        for target in _imports(node, place):
            if target.startswith("chatbot."):
                yield from _layer_problem(node.lineno, part, target.split(".")[1])
            elif not place.as_posix().startswith(ALLOWED_IN.get(target.split(".")[0], "")):
                yield node.lineno, f"{target.split('.')[0]} may not be imported here"
        if _reads_environment(node) and part != "settings":
            yield node.lineno, "only settings reads the environment"
        if isinstance(node, ast.ExceptHandler) and part != "web" and _catches_all(node):
            yield node.lineno, "catches everything"


def _layer_problem(line: int, part: str, target: str) -> Iterator[tuple[int, str]]:
    if part == target or part not in RANKS or target.startswith("__"):
        return
    if target not in RANKS:
        yield line, f"{target} is in no layer"
    elif RANKS[target] > RANKS[part]:
        yield line, f"{part} (layer {RANKS[part]}) imports {target} (layer {RANKS[target]})"
    elif part in ADAPTERS and target in ADAPTERS:
        yield line, f"adapter {part} imports adapter {target}"


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which runs nothing."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _nodes(other)
            continue
        yield child
        yield from _nodes(child)


def _imports(node: ast.AST, place: Path) -> list[str]:
    """Absolute names of what a node imports; a module named in a string (a registry's row) counts too."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Constant):
        named = isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value)
        return [node.value] if named and node.value.split(".")[1] in RANKS else []
    if not isinstance(node, ast.ImportFrom):
        return []
    base = ["chatbot", *place.parts[:-1]][: len(place.parts) - node.level + 1] if node.level else []
    module = ".".join([*base, *([node.module] if node.module else [])])
    return [f"{module}.{alias.name}" for alias in node.names] if module == "chatbot" else [module]


def _reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and bool(ENVIRONMENT & {alias.name for alias in node.names})
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ENVIRONMENT
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    )


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether it may swallow anything; one that always raises again only tidies up."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    everything = any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in caught)
    return everything and ast.unparse(handler.body[-1]) != "raise"


def test_the_readme_shows_every_part_in_its_layer() -> None:
    tree = (
        (PACKAGE.parent / "README.md")
        .read_text(encoding="utf-8")
        .partition("    chatbot/\n")[2]
        .partition("    templates/")[0]
    )
    shown: dict[str, int] = {}
    for line in tree.splitlines():
        layer = re.search(r"layer (\d)", line)
        rank = int(layer[1]) if layer else max(shown.values())
        shown |= dict.fromkeys(re.findall(r"\b(\w+)(?:/|\.py)(?= |$)", line), rank)
    assert shown == {part: rank for part, rank in RANKS.items() if part != "__main__"}


def test_the_package_keeps_its_layers() -> None:
    found = violations(PACKAGE)
    assert not found, "\n" + "\n".join(found)


def test_every_part_named_here_exists_or_is_to_come() -> None:
    there = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix in {"", ".py"}}
    assert set(RANKS) - there == set()


PLANTED = {
    "a higher part, relative": (
        "schema.py",
        "import re\nfrom .stores import x",
        2,
        "schema (layer 0) imports stores (layer 3)",
    ),
    "a higher part, absolute": ("stores/a.py", "import chatbot.web.api", 1, "stores (layer 3) imports web (layer 8)"),
    "a higher part, from the root": (
        "retrieval/a.py",
        "from .. import services",
        1,
        "retrieval (layer 4) imports services (layer 7)",
    ),
    "a higher part, in a function": (
        "text.py",
        "def f():\n    from .agents.direct import g",
        2,
        "text (layer 1) imports agents (layer 5)",
    ),
    "a higher part, by a registry": (
        "loaders/__init__.py",
        'R = {"x": "chatbot.agents.x"}',
        1,
        "loaders (layer 3) imports agents (layer 5)",
    ),
    "another adapter": (
        "caches/a.py",
        "from ..embedders.minilm import x",
        1,
        "adapter caches imports adapter embedders",
    ),
    "in the else of TYPE_CHECKING": (
        "errors.py",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from . import settings",
        4,
        "errors (layer 0) imports settings (layer 1)",
    ),
    "a part in no layer": ("misc.py", "x = 1", 1, "misc is in no layer"),
    "flask": ("services.py", "from flask import g", 1, "flask may not be imported here"),
    "pymongo": ("stores/a.py", "import pymongo.errors", 1, "pymongo may not be imported here"),
    "bson": ("repositories/a.py", "\n\nfrom bson import ObjectId", 3, "bson may not be imported here"),
    "openai": ("embedders/other.py", "from openai import OpenAI", 1, "openai may not be imported here"),
    "the environment": ("cli/a.py", "import os\nx = os.environ['HOME']", 2, "only settings reads the environment"),
    "the environment, by name": ("web/a.py", "from os import getenv", 1, "only settings reads the environment"),
    "except Exception": ("cli/a.py", "try:\n    f()\nexcept Exception:\n    pass", 3, "catches everything"),
    "except Exception in a tuple": (
        "cli/a.py",
        "try:\n    f()\nexcept (OSError, Exception):\n    pass",
        3,
        "catches everything",
    ),
    "a bare except": ("cli/a.py", "try:\n    f()\nexcept:\n    pass", 3, "catches everything"),
}


@pytest.mark.parametrize(("file", "source", "line", "expected"), PLANTED.values(), ids=PLANTED)
def test_a_planted_violation_is_reported_with_file_and_line(
    tmp_path: Path, file: str, source: str, line: int, expected: str
) -> None:
    path = tmp_path / "chatbot" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert violations(tmp_path / "chatbot") == [f"chatbot/{file}:{line}: {expected}"]


ALLOWED = {
    "a lower part": ("web/api.py", "from ..schema import x\nfrom ..services import y\nimport flask"),
    "the same layer": ("grounding/a.py", "from ..retrieval import x"),
    "its own part": ("stores/a.py", "from .chunks import x\nfrom . import chunks"),
    "the version": ("cli/a.py", "from .. import __version__"),
    "only for the type checker": ("schema.py", "if TYPE_CHECKING:\n    from .web import x"),
    "the error page of the web": ("web/errors.py", "try:\n    f()\nexcept Exception:\n    pass"),
    "tidying up": ("cli/a.py", "try:\n    f()\nexcept BaseException:\n    g()\n    raise"),
    "a driver at home": ("database/a.py", "import bson\nfrom pymongo import MongoClient"),
    "the SDK at home": ("chat_models/openai.py", "import openai"),
    "the environment at home": ("settings.py", "import os\nx = os.environ"),
}


@pytest.mark.parametrize(("file", "source"), ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed_is_not_reported(tmp_path: Path, file: str, source: str) -> None:
    path = tmp_path / "chatbot" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert violations(tmp_path / "chatbot") == []

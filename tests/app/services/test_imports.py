"""What holds what: the modules of app/services need each other in one direction."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from chatbot.app import services

FOLDER = Path(str(services.__file__)).parent


def needed_modules(path: Path) -> set[str]:
    """Return the modules of the folder that a module imports, in functions and for
    types too; "__init__" = the names of the folder itself.
    """
    needed = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            needed.add(node.module or "__init__")
    return needed


def test_no_module_of_the_services_needs_one_that_needs_it() -> None:
    graph = {path.stem: needed_modules(path) for path in FOLDER.glob("*.py")}
    assert "runtime" in graph["__init__"]
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("storage") < order.index("runtime") < order.index("__init__")

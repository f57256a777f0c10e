"""The modules of the page's scripts: how they import each other, and where they keep
state. Prettier sets a top-level statement so that it begins in the first column, with
no other line of it there but its end.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from chatbot.config import STATIC

SCRIPTS = STATIC / "js"
IMPORT_PATTERN = re.compile(r'(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"')
"""An import, a re-export, or an import when first needed."""
STATE_PATTERN = re.compile(r"let (\w+)")
DEFINITION_PATTERN = re.compile(
    r"(export )?(?:async )?(?:function\*? |const |class )(\w+)"
)
WORK_UNDER_WAY = {"timer", "pending"}
"""Names of a timer and of a request that the next one replaces: nothing is shown."""


def read_scripts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*.js")
    }


def imports_of(name: str, script: str) -> set[str]:
    """Return the modules that a module imports, by their paths below its folder."""
    folder = (SCRIPTS / name).parent
    targets = set()
    for path in IMPORT_PATTERN.findall(script):
        target = (folder / path).resolve()
        if target.is_relative_to(SCRIPTS):
            targets.add(target.relative_to(SCRIPTS).as_posix())
    return targets


def modules_in_circles(scripts: Mapping[str, str]) -> set[str]:
    """Return the modules that import themselves through others, and those on the way
    from one circle to another.
    """
    left = {name: imports_of(name, script) for name, script in scripts.items()}
    while True:
        targets = set().union(*left.values())
        ends = {name for name, own in left.items() if not own or name not in targets}
        if not ends:
            return set(left)
        left = {name: own - ends for name, own in left.items() if name not in ends}


def statements(script: str) -> list[str]:
    """Split a script into its top-level statements."""
    parts: list[str] = []
    for line in script.splitlines():
        if not parts or re.match(r"[\w$/]", line):
            parts.append("")
        parts[-1] += f"{line}\n"
    return parts


def changes(name: str, code: str) -> bool:
    """Return whether code assigns a variable."""
    assigned = rf"(?<![\w.#]){name}\s*(?:[-+*/|&?]{{0,2}}=(?!=)|\+\+|--)"
    return re.search(assigned, code) is not None


def uses(name: str, code: str) -> bool:
    return re.search(rf"(?<![\w.#]){name}\b", code) is not None


def shared_state(script: str) -> set[str]:
    """Return the module's variables that other modules change: those that are exported,
    or assigned by an exported definition or by what that uses.
    """
    exported = set()
    bodies = {}
    variables = set()
    for statement in statements(script):
        if variable := STATE_PATTERN.match(statement):
            variables.add(variable[1])
        elif variable := re.match(r"export let (\w+)", statement):
            return {variable[1]}
        elif definition := DEFINITION_PATTERN.match(statement):
            bodies[definition[2]] = statement
            if definition[1]:
                exported.add(definition[2])
    reached = closure(exported, bodies)
    return {
        name
        for name in variables - WORK_UNDER_WAY
        if any(changes(name, bodies[definition]) for definition in reached)
    }


def closure(names: Iterable[str], bodies: Mapping[str, str]) -> set[str]:
    """Return the definitions that some of them use, directly or through others."""
    reached = set(names)
    added = set(reached)
    while added:
        text = "".join(bodies[name] for name in added)
        added = {name for name in bodies if uses(name, text)} - reached
        reached |= added
    return reached


def test_no_module_of_the_page_imports_itself_through_others() -> None:
    assert modules_in_circles(read_scripts(SCRIPTS)) == set()


def test_only_the_store_of_the_chat_page_keeps_state_that_other_views_change() -> None:
    shared = {
        name: state
        for name, script in read_scripts(SCRIPTS / "chat").items()
        if (state := shared_state(script))
    }
    assert shared == {}


def test_a_circle_of_imports_is_found() -> None:
    scripts = {
        "chat/list.js": 'import { go } from "./page.js";\n',
        "chat/page.js": 'const menu = () => import("./menu.js");\n',
        "chat/menu.js": 'import {\n  load,\n} from "./list.js";\n',
        "chat/start.js": 'import { load } from "./list.js";\n',
    }
    circle = {"chat/list.js", "chat/page.js", "chat/menu.js"}
    assert modules_in_circles(scripts) == circle


@pytest.mark.parametrize(
    "change",
    [
        "export const open = (id) => {\n  current = id;\n};\n",
        "function show(id) {\n  current = id;\n}\n\nexport const open = show;\n",
        "export class View {\n  open(id) {\n    current ??= id;\n  }\n}\n",
    ],
)
def test_state_that_an_exported_function_changes_is_found(change: str) -> None:
    assert shared_state(f"let current = null;\n\n{change}") == {"current"}


def test_state_that_only_a_module_itself_changes_is_its_own() -> None:
    script = (
        "let current = null;\n\n"
        "export const isOpen = () => current === null;\n\n"
        'button.addEventListener("click", () => {\n  current = button;\n});\n'
    )
    assert shared_state(script) == set()

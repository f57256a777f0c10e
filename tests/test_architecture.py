"""The rooms of the package, checked on the syntax trees: a room imports only from the
rooms named before it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "chatbot"
ROOMS = (
    "domain",
    "config",
    "language",
    "questions",
    "database",
    "stores",
    "models",
    "search",
    "library",
    "jobs",
    "checking",
    "answering",
    "app",
    "extras",
)
RANKS = {room: rank for rank, room in enumerate(ROOMS)}
ALLOWED_IN = {
    "flask": ("app/web/", "app/cli/", "app/factory.py", "extras/"),
    "flask_cors": ("app/web/", "app/cli/", "app/factory.py"),
    "pymongo": ("database/",),
    "bson": ("database/",),
    "psycopg": ("extras/pgvector/",),
    "pgvector": ("extras/pgvector/",),
    "openai": (
        "models/openai_client.py",
        "models/embed/remote.py",
        "models/chat/openai.py",
    ),
    "httpcore2": ("library/fetching/",),
    "dotenv": ("config/settings.py",),
}
"""Foreign packages, and the only places that may import them."""
READ_ALONE = ("library/loaders/", "checking/", "database/")
"""Folders that an engineer can read by themselves: they import nothing of the package
but these rooms and themselves.
"""
FOUNDATIONS = ("domain", "language")
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
MAKERS_OF_COLLECTIONS = {
    "database/core.py",
    "database/changes.py",
    "database/embedded.py",
    "database/mongo.py",
}
"""The only files that make collections or take the driver's."""
MODULE_NAME_PATTERN = re.compile(r"chatbot(\.\w+)+(:\w+)?")
TABLE_OF_EXTRAS = ("extras", "__init__.py")
"""The only file that names the extras."""
UNRANKED = ("__init__", "__main__", "prerequisites")
"""The package's own files: the public names, the command line's entry, and what both
entries ask before anything is imported.
"""


def violations(package: Path) -> list[str]:
    """Return every broken rule below ``package`` as "path:line: problem", in the order
    of the files.
    """
    return [
        f"{package.name}/{place.as_posix()}:{line}: {problem}"
        for path in sorted(package.rglob("*.py"))
        for place in [path.relative_to(package)]
        for line, problem in sorted(
            _problems(place, ast.parse(path.read_text(encoding="utf-8")))
        )
    ]


def _problems(place: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    room = place.parts[0].removesuffix(".py")
    if room not in RANKS and room not in UNRANKED:
        yield 1, f"{room} is not a room"
    for node in _nodes(tree):
        for target in _imports(node, place):
            if target.startswith("chatbot."):
                yield from _room_problem(node.lineno, room, target.split(".")[1])
                yield from _foundation_problem(node.lineno, place, target)
                yield from _extra_problem(node.lineno, place, target)
            elif not place.as_posix().startswith(
                ALLOWED_IN.get(target.split(".")[0], "")
            ):
                yield node.lineno, f"{target.split('.')[0]} may not be imported here"
        if _reads_environment(node) and not place.as_posix().startswith(
            "config/settings"
        ):
            yield node.lineno, "only config/settings reads the environment"
        if (
            isinstance(node, ast.ExceptHandler)
            and place.parts[:2] != ("app", "web")
            and _catches_all(node)
        ):
            yield node.lineno, "catches everything"

        if _makes_collection(node) and place.as_posix() not in MAKERS_OF_COLLECTIONS:
            yield node.lineno, "a collection is database[name] or change[name]"


def _makes_collection(node: ast.AST) -> bool:
    """Return whether a node makes a collection itself, or takes the driver's: past the
    guard of what is only written through `Changes`.
    """
    if not isinstance(node, ast.Call):
        return False
    made = ast.unparse(node.func).rpartition(".")[2]
    return made in {"Collection", "WritableCollection", "raw"}


def _room_problem(line: int, room: str, target: str) -> Iterator[tuple[int, str]]:
    if room == target or room in UNRANKED or target.startswith("__"):
        return
    if target not in RANKS:
        yield line, f"{target} is not a room"
    elif (room, target) == ("app", "extras"):
        return  # `_extra_problem` says which part of it
    elif room in RANKS and RANKS[target] > RANKS[room]:
        yield line, f"{room} imports {target}, a later room"


def _foundation_problem(
    line: int, place: Path, target: str
) -> Iterator[tuple[int, str]]:
    folder = next((one for one in READ_ALONE if place.as_posix().startswith(one)), None)
    if folder is None or target.split(".")[1] in FOUNDATIONS:
        return
    imported = target.removeprefix("chatbot.").replace(".", "/").partition(":")[0]
    if not f"{imported}/".startswith(folder):
        allowed = " and ".join(FOUNDATIONS)
        yield line, f"{folder} imports {target}; it may import {allowed} only"


def _extra_problem(line: int, place: Path, target: str) -> Iterator[tuple[int, str]]:
    """Yield a problem where the core imports an extra, or an extra another one."""
    rooms = target.partition(":")[0].split(".")[1:]
    if rooms[0] != "extras" or len(rooms) == 1 or place.parts == TABLE_OF_EXTRAS:
        return
    if place.parts[0] != "extras":
        yield line, f"the core imports the extra {rooms[1]}"
    elif place.parts[1] != rooms[1]:
        yield line, f"the extra {place.parts[1]} imports the extra {rooms[1]}"


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those under `if TYPE_CHECKING:`, which runs nothing."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _nodes(other)
            continue
        yield child
        yield from _nodes(child)


def _imports(node: ast.AST, place: Path) -> list[str]:
    """Return the absolute names of what a node imports; a module named in a string (a
    registry's row) counts too.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Constant):
        named = isinstance(node.value, str) and MODULE_NAME_PATTERN.fullmatch(
            node.value
        )
        return [node.value] if named and node.value.split(".")[1] in RANKS else []
    if not isinstance(node, ast.ImportFrom):
        return []
    base = (
        ["chatbot", *place.parts[:-1]][: len(place.parts) - node.level + 1]
        if node.level
        else []
    )
    module = ".".join([*base, *([node.module] if node.module else [])])
    return (
        [f"{module}.{alias.name}" for alias in node.names]
        if module == "chatbot"
        else [module]
    )


def _reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and bool(
            ENVIRONMENT & {alias.name for alias in node.names}
        )
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ENVIRONMENT
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    )


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Return whether it may swallow anything; a handler that always raises again only
    tidies up.
    """
    caught = (
        handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    )
    everything = any(
        kind is None or ast.unparse(kind) in {"Exception", "BaseException"}
        for kind in caught
    )
    return everything and ast.unparse(handler.body[-1]) != "raise"


def test_the_readme_shows_the_rooms_in_their_order() -> None:
    tree = (
        (PACKAGE.parent / "README.md")
        .read_text(encoding="utf-8")
        .partition("    chatbot/\n")[2]
        .partition("    templates/")[0]
    )
    assert re.findall(r"^ {6}(\w+)/ ", tree, re.MULTILINE) == list(ROOMS)


def test_the_package_keeps_its_rooms() -> None:
    broken = violations(PACKAGE)
    assert not broken, "\n" + "\n".join(broken)


def test_the_rooms_are_all_there_is() -> None:
    parts = {
        path.name for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"
    }
    assert parts - {"__pycache__"} == {
        *ROOMS,
        *(f"{name}.py" for name in UNRANKED),
    }


DOOR = (
    r"\b_?storage\.(?:documents|figures|glossary|ingestions|feedback|keys|usage|files)"
    r"(?:\.\w+)?$|\bruntime\.(?:store|retriever|resources|understanding|agent|"
    r"indicators|everything)(?:\.\w+)?$"
)
"""What reaches around the reader of a caller's limit (database/reader.py, and
app/services/activity.py).
"""
BEHIND_THE_DOOR = (
    "answering/",
    "search/",
    "app/web/",
    "extras/protocols/",
    "extras/sign_in/",
    "extras/sources/pages.py",
    "extras/changes/",
    "extras/operator/metrics.py",
    "extras/operator/routes.py",
)
"""Where callers are served."""
BESIDE_THE_DOOR = {
    "app/web/briefs.py storage.feedback.exchange": "the caller's own answer",
    "app/web/callers.py storage.keys.find": "says who the caller is",
    "app/web/callers.py storage.keys.of_session": "says who the caller is",
    "extras/changes/pages.py storage.keys.create_feed": "the caller's own key",
    "extras/sign_in/people.py storage.documents": "how reports spell the countries",
    "app/web/conversations.py storage.feedback": "written for the caller's own answer",
    "app/web/conversations.py storage.feedback.of": "of the caller's own answers",
    "app/web/jobs.py storage.files.require_space": "the disk",
    "app/web/jobs.py storage.files.put": "writes",
    "app/web/jobs.py storage.ingestions.require_room": "the queue",
    "app/web/jobs.py storage.ingestions.unfinished": "names that an owner has used",
    "app/web/jobs.py storage.documents.all": "names that an owner has used",
    "app/web/monitoring.py storage.files.describe_space": "the disk",
    "app/web/monitoring.py runtime.store.ping": "only for callers without a limit",
    "extras/operator/metrics.py storage.documents.holdings": "only without a limit",
    "extras/operator/metrics.py storage.documents.unready": "only without a limit",
    "extras/operator/metrics.py storage.ingestions.unfinished": "metrics",
    "extras/operator/metrics.py storage.usage.days": "only without a limit",
}


def _reaching_around() -> set[str]:
    """Return each expression that reaches around the reader, after its file."""
    found: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(BEHIND_THE_DOOR):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        inner = {id(node.value) for node in nodes}
        for node in nodes:
            match = re.search(DOOR, ast.unparse(node))
            if match and id(node) not in inner:
                found.add(f"{place} {match[0].removeprefix('_')}")
    return found


def test_callers_are_served_through_the_reader_of_their_limit() -> None:
    """A view that reads a repository or the store itself would show what others have.
    Use `library().reader`, `library().search` or `activity()`.
    """
    assert sorted(_reaching_around()) == sorted(BESIDE_THE_DOOR)


PLANTED = {
    "a later room": (
        "search/a.py",
        "\nfrom .. import app",
        2,
        "search imports app, a later room",
    ),
    "an extra in the core": (
        "app/a.py",
        "from ..extras.changes.pages import changes",
        1,
        "the core imports the extra changes",
    ),
    "an extra in another": (
        "extras/b/a.py",
        'PAGES = "chatbot.extras.changes.pages:changes"',
        1,
        "the extra b imports the extra changes",
    ),
    "by a registry": (
        "library/a.py",
        'R = {"x": "chatbot.answering.x"}',
        1,
        "library imports answering, a later room",
    ),
    "a file outside of the rooms": ("misc.py", "x = 1", 1, "misc is not a room"),
    "a folder that is read alone": (
        "library/loaders/a.py",
        "\n\nfrom ..control import lease",
        3,
        "library/loaders/ imports chatbot.library.control; it may import "
        "domain and language only",
    ),
    "the version of the package": (
        "database/repositories/a.py",
        "from ... import __version__",
        1,
        "database/ imports chatbot.__version__; it may import domain and language only",
    ),
    "a driver": (
        "stores/a.py",
        "import pymongo.errors",
        1,
        "pymongo may not be imported here",
    ),
    "the environment": (
        "app/a.py",
        "from os import getenv",
        1,
        "only config/settings reads the environment",
    ),
    "a bare except": (
        "app/cli/a.py",
        "try:\n    f()\nexcept:\n    pass",
        3,
        "catches everything",
    ),
    "a collection past its guard": (
        "library/a.py",
        "rows = Collection('documents', database)",
        1,
        "a collection is database[name] or change[name]",
    ),
}


@pytest.mark.parametrize(
    ("file", "source", "line", "expected"), PLANTED.values(), ids=PLANTED
)
def test_a_planted_violation_is_reported_with_file_and_line(
    tmp_path: Path, file: str, source: str, line: int, expected: str
) -> None:
    path = tmp_path / "chatbot" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert violations(tmp_path / "chatbot") == [f"chatbot/{file}:{line}: {expected}"]

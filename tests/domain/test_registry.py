"""The one mechanism behind everything that is chosen by name."""

import ast
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from chatbot.answering.modes import MODES
from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError, UnknownNameError
from chatbot.domain.registry import Registry
from chatbot.extras import EXTRAS, extras
from chatbot.extras.sources.connectors import CONNECTORS
from chatbot.library.chunkers import CHUNKERS
from chatbot.library.loaders import LOADERS
from chatbot.models.chat import CHAT_MODELS
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.providers import PROVIDERS
from chatbot.search import RETRIEVAL_METHODS
from chatbot.stores import STORES

REGISTRIES = {
    registry.kind: registry
    for registry in (
        MODES,
        CHAT_MODELS,
        CHUNKERS,
        CONNECTORS,
        EMBEDDERS,
        EXTRAS,
        LOADERS,
        RETRIEVAL_METHODS,
        STORES,
    )
}


def planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str
) -> str:
    """A module with this source that can be imported as ``name``."""
    (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_an_installed_package_adds_an_adapter_and_replaces_none(tmp_path: Path) -> None:
    about = tmp_path / "acme-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[report_chat.rerankers]\nnewest = acme:build\ndiversity = acme:build\n"
    )
    (tmp_path / "acme.py").write_text("def build(**_):\n    return 'of acme'\n")
    code = (
        "from chatbot.models.rerank import RERANKERS as known\n"
        "print('newest' in known.names(), known.builder('newest')(), "
        "known.builder('diversity').__name__)"
    )
    command, environment = (
        [sys.executable, "-c", code],
        {**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    said = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said == "True of acme DiversityReranker\n"


def test_an_unknown_name_is_an_error_that_lists_the_valid_ones() -> None:
    registry: Registry[object] = Registry("colour", {"red": "x.red", "blue": "x.blue"})
    with pytest.raises(UnknownNameError) as raised:
        registry.check("green", field="COLOUR")
    for part in ("COLOUR", "'green'", "colour", "Valid: blue, red."):
        assert part in raised.value.message
    (detail,) = raised.value.details
    assert (detail["field"], detail["valid_values"]) == ("COLOUR", ["blue", "red"])
    with pytest.raises(UnknownNameError) as raised:
        registry.builder("green")
    assert raised.value.details[0]["field"] == "colour"
    assert registry.check("auto", also=("auto",)) == "auto"
    with pytest.raises(UnknownNameError, match=r"Valid: auto, blue, red\."):
        registry.check("green", also=("auto",))


def test_an_adapter_is_imported_on_first_use_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = planted(
        tmp_path, monkeypatch, "registry_probe_lazy", "def build():\n    return 42\n"
    )
    registry: Registry[int] = Registry("number", {"answer": name})
    registry.check("answer")
    assert name not in sys.modules
    assert registry.builder("answer")() == 42
    assert name in sys.modules


def test_a_missing_package_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-A5: a missing package = an error naming it."""
    name = planted(
        tmp_path, monkeypatch, "registry_probe_missing", "import no_such_package_here\n"
    )
    with pytest.raises(MissingPackageError) as raised:
        Registry[object]("number", {"answer": name}).builder("answer")
    assert "'no_such_package_here'" in raised.value.message
    assert raised.value.remedy == "Install it: pip install no_such_package_here"


def test_a_module_of_our_own_that_is_missing_is_a_bug_not_a_package() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"chatbot\.no_such_module"):
        Registry[object]("number", {"answer": "chatbot.no_such_module"}).builder(
            "answer"
        )


ROWS = [
    (kind, name) for kind, registry in REGISTRIES.items() for name in registry.names()
]


@pytest.mark.parametrize(
    ("kind", "name"), ROWS, ids=[f"{kind}:{name}" for kind, name in ROWS]
)
def test_every_row_has_a_module_of_its_name_that_ends_with_build(
    kind: str, name: str
) -> None:
    try:
        assert callable(REGISTRIES[kind].builder(name))
    except MissingPackageError as error:
        pytest.skip(error.message)
    module, _, shared = REGISTRIES[kind]._modules[name].partition(":")
    if shared:
        return
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin)
    assert (
        name in (origin.stem, origin.parent.name) or name in PROVIDERS
    )  # a file, or a package with its adapter
    last = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body[-1]
    assert "build" in (
        getattr(last, "name", ""),
        *(ast.unparse(t) for t in getattr(last, "targets", [])),
    )


def test_every_file_of_an_adapter_that_builds_is_registered() -> None:
    """A new file without its line in the registry would never be reachable."""
    package = Path(__file__).parents[2] / "chatbot"
    registered = {
        module
        for registry in REGISTRIES.values()
        for module in registry._modules.values()
    }
    for extra in extras():
        for rows in extra.adapters.values():
            registered.update(rows.values())
    builders = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        for path in package.rglob("*.py")
        if re.search(r"^(def build\(|build =)", path.read_text("utf-8"), re.MULTILINE)
    }
    builders.discard("chatbot.app.services")  # which builds the application
    assert builders == {module for module in registered if ":" not in module}


def test_an_embedding_provider_says_its_default_model() -> None:
    assert (
        EMBEDDERS.builder("hashing")(
            Settings(), model=EMBEDDERS.default_model("hashing")
        ).dimensions
        == 256
    )

"""What a message says to install is there."""

import re
import tomllib
from pathlib import Path

import pytest

from chatbot.domain.errors import MissingPackageError
from chatbot.domain.packages import LOCAL_MODULES, install_command
from chatbot.domain.registry import Registry

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["requirements_txt"]
EXTRAS = HOOK["optional-dependencies"]
USES = re.compile(r"install_command\(\s*['\"](\w+)['\"]")


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_checkout_installs_a_file_and_a_wheel_an_extra(
    extra: str, tmp_path: Path
) -> None:
    command = install_command(extra)
    if extra == "all":  # a checkout has one file for each of them
        assert command == "pip install 'report-chat[all]'"
        return
    assert (ROOT / command.removeprefix("pip install -r ")).is_file()
    wheel = install_command(extra, root=tmp_path)
    assert wheel == f"pip install 'report-chat[{extra}]'"


def test_the_program_itself_is_installed_by_its_name(tmp_path: Path) -> None:
    assert install_command(root=tmp_path) == "pip install report-chat"
    assert install_command() == "pip install -r requirements.txt"


def test_no_message_names_an_extra_or_a_file_that_is_not_there() -> None:
    used = set()
    for path in (ROOT / "chatbot").rglob("*.py"):
        code = path.read_text("utf-8")
        used |= set(USES.findall(code))
        if path.name not in {"packages.py", "prerequisites.py"}:
            assert "pip install -r" not in code, path
    assert used
    assert used <= EXTRAS.keys()


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        *((module, install_command("local")) for module in sorted(LOCAL_MODULES)),
        ("nowhere", "pip install nowhere"),
    ],
)
def test_a_missing_module_is_named_with_what_installs_it(
    module: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr("chatbot.domain.registry.import_module", missing)
    registry: Registry[object] = Registry("store", {"faiss": "nowhere.faiss"})
    with pytest.raises(MissingPackageError) as raised:
        registry.module("faiss")
    assert raised.value.remedy == f"Install it: {remedy}"

"""`--help`, and the exit statuses: 0 done, 1 failed, 2 usage."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from chatbot import __version__
from chatbot.app.cli import all_commands, cli, load_command
from tests.app.cli.conftest import Run
from tests.data import cases

pytestmark = pytest.mark.extras("all")
ROOT = Path(__file__).parent.parent.parent.parent


def commands(name: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    command = load_command(name)
    if isinstance(command, click.Group):
        yield from (((name, inner), found) for inner, found in command.commands.items())
    else:
        yield (name,), command


COMMANDS = dict(sorted(found for name in all_commands() for found in commands(name)))


def test_the_commands_of_the_contract_are_there() -> None:
    assert {"serve", "ingest", "ask", "evaluate"} <= {path[0] for path in COMMANDS}
    assert {("documents", "list"), ("documents", "delete")} <= set(COMMANDS)


def test_help_has_the_options_and_an_example_in_a_paragraph_of_its_own(
    run: Run,
) -> None:
    for path, command in COMMANDS.items():
        result = run(*path, "--help")
        assert result.status == 0
        assert re.search(
            rf"Example: python -m chatbot {' '.join(path)}\b",
            " ".join(result.out.split()),
        )
        assert len(re.findall(r"\n\n *Example:", result.out)) == result.out.count(
            "Example:"
        )
        options = [
            parameter
            for parameter in command.params
            if isinstance(parameter, click.Option)
        ]
        assert [option.name for option in options if not option.help] == []


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        listed = cli.get_command(context, name)
        assert listed is not None
        command, widest = load_command(name), 78 - len("  conversations  ") - 2
        assert command.name == name
        for limit in range(20, widest + 1):
            assert listed.get_short_help_str(limit) == command.get_short_help_str(limit)


def test_the_list_is_shown_without_loading_a_command() -> None:
    code = (
        "import sys\nfrom chatbot.app.cli import main\ntry:\n    "
        "main(['--help'])\nfinally:\n"
        "    print(sorted(name for name in sys.modules if name in {'flask', "
        "'faiss', 'chatbot.app.services'}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Ask your reports." in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


CASES = cases(__file__)


def test_wrong_usage_is_exit_status_2(run: Run) -> None:
    for arguments in CASES["usage"].values():
        result = run(*arguments)
        assert result.status == 2
        assert "Error: " in result.err


def test_the_command_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "chatbot", "--version"]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.strip()) == (
        0,
        f"report-chat, version {__version__}",
    )

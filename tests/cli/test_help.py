"""`--help`, and the exit statuses: 0 done, 1 failed, 2 usage."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from chatbot import __version__
from chatbot.cli import cli
from tests.cli.conftest import Run

ROOT = Path(__file__).parent.parent.parent


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)


COMMANDS = sorted(commands(cli))


def test_the_commands_of_the_contract_are_there() -> None:
    assert {"serve", "ingest", "ask", "evaluate"} <= {path[0] for path in COMMANDS}
    assert {("documents", "list"), ("documents", "delete")} <= set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_an_example_of_the_command(run: Run, path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.status == 0
    text = " ".join(result.out.split())
    assert re.search(rf"Example: python -m chatbot {' '.join(path)}\b", text)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_has_a_help_text(path: tuple[str, ...]) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help] in ([], ["output"])


def test_version(run: Run) -> None:
    assert run("--version").out.strip() == f"report-chat, version {__version__}"


USAGE = {
    "no such command": ["sing"],
    "no such option": ["ask", "x", "--loud"],
    "no argument": ["ask"],
    "a file that is not there": ["ingest", "/no/such/file.md"],
    "a year that is none": ["ingest", ".", "--year", "soon"],
    "a limit out of range": ["ask", "x", "--limit", "51"],
    "a port out of range": ["serve", "--port", "65536"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_wrong_usage_is_exit_status_2(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert "Error: " in result.err


def test_a_wrong_setting_is_a_message_and_exit_status_1(run: Run) -> None:
    result = run("documents", "list", TOP_K="many")
    assert result.status == 1
    assert "Error: TOP_K='many'" in result.err


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "chatbot", "--version"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, f"report-chat, version {__version__}")

"""The doctor finds what stops the start, and nothing else stops it: for each of forty
wrong configurations doctor and server agree, and the doctor names the setting.
"""

import tomllib
from pathlib import Path

import pytest

from chatbot.app.factory import close_app, create_app
from chatbot.app.web.server import listen
from chatbot.config.settings import Settings
from chatbot.domain.errors import ChatbotError
from chatbot.extras.operator.doctor import diagnose_settings

CASES = tomllib.loads(
    (Path(__file__).parent / "data" / "wrong_settings.toml").read_text("utf-8")
)


def started(environ: dict[str, str]) -> str:
    """What stops the start; "" where it succeeds."""
    try:
        settings = Settings.from_env(environ)
        close_app(create_app(settings))
        listen(settings.host, 0).close()
    except ChatbotError as error:
        return error.message
    return ""


def diagnosed(environ: dict[str, str]) -> list[str]:
    """The errors that the doctor reports, with their remedies."""
    try:
        settings = Settings.from_env(environ)
    except ChatbotError as error:  # the command line stops with it
        return [error.message]
    return [
        f"{finding.message} {finding.remedy}"
        for finding in diagnose_settings(settings)
        if finding.severity == "error"
    ]


@pytest.mark.parametrize("name", CASES)
def test_doctor_and_server_agree(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "file").write_text("not a table")
    environ = {
        "DATA_DIR": str(tmp_path / "data"),
        "SAMPLE_DATA": "off",
        "EMBEDDING_PROVIDER": "hashing",
        "CHAT_MODEL": "extractive",
    }
    for setting, value in case["settings"].items():
        environ[setting] = value.format(folder=tmp_path)
    stops = started(environ)
    errors = diagnosed(environ)
    assert bool(stops) == case.get("stops", True), stops
    assert bool(errors) == bool(stops), (stops, errors)
    for word in case["names"]:
        assert any(word in error for error in errors), (word, errors)


def test_all_errors_are_collected(tmp_path: Path) -> None:
    wrong = ("RERANKER", "RETRIEVAL_METHOD", "FUSION", "MODE")
    environ = dict.fromkeys(wrong, "nosuch")
    environ |= {"DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "hashing"}
    errors = diagnosed(environ)
    assert all(any(name in error for error in errors) for name in wrong)

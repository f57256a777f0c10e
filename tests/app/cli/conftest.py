"""`run("ask", "...")`: one command as a user types it, in this process, on an empty
data folder.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbot.app.cli import main
from chatbot.database import EMBEDDED_FILE, open_file
from chatbot.database.core import Database
from tests.conftest import KENYA_2023, write_report


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


Run = Callable[..., Result]


def opened(folder: str | Path) -> Database:
    return open_file(Path(folder) / EMBEDDED_FILE)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Settings for commands: deterministic, offline, empty."""
    return {
        "DATA_DIR": str(tmp_path / "data"),
        "EMBEDDING_PROVIDER": "hashing",
        "CHAT_MODEL": "echo",
        "SAMPLE_DATA": "off",
        "SUMMARIES": "off",
        "CACHE_SECONDS": "0",
    }


@pytest.fixture
def run(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Result]:
    def invoke(*arguments: str, **settings: str) -> Result:
        with monkeypatch.context() as patch:
            for name, value in {**environment, **settings}.items():
                patch.setenv(name, value)
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main(arguments)
        code = ended.value.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(
            code if isinstance(code, int) else 0 if code is None else 1,
            captured.out,
            captured.err,
        )

    return invoke


@pytest.fixture
def kenya_file(tmp_path: Path) -> Path:
    return write_report(tmp_path / "reports", KENYA_2023, "kenya-2023")


@pytest.fixture
def loaded(run: Run, kenya_file: Path) -> Run:
    """`run`, over a database with Kenya 2023 and Mali 2023."""
    mali = write_report(
        kenya_file.parent / "mali",
        "# Mali: Country Report 2023\n\n## Land\n\nA desert.",
        "mali",
    )
    for path, country in ((kenya_file, "Kenya"), (mali, "Mali")):
        assert (
            run(
                "ingest",
                str(path),
                "--country",
                country,
                "--year",
                "2023",
                "--type",
                "country_report",
            ).status
            == 0
        )
    return run


@pytest.fixture
def process_environment(environment: dict[str, str]) -> dict[str, str]:
    """For commands that need a process of their own."""
    return {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}

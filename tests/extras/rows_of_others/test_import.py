"""Rows of an older system, imported into another database."""

from pathlib import Path

from click.testing import CliRunner

from chatbot.app.cli import cli
from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database import open_database
from tests.app.test_older_rows import DIMENSIONS, write_older_rows


def test_older_rows_are_imported_into_another_database(
    settings: Settings, tmp_path: Path
) -> None:
    database = open_database(settings.override(data_dir=tmp_path / "older"))
    write_older_rows(database)
    database.close()
    environment = {
        "DATA_DIR": str(tmp_path / "new"),
        "EMBEDDING_PROVIDER": "hashing",
        "EMBEDDING_MODEL": str(DIMENSIONS),
        "CHAT_MODEL": "echo",
        "SAMPLE_DATA": "off",
    }
    arguments = [
        "import",
        "--from",
        "report_chatting",
        "--as",
        "chatbot",
        "--database",
        str(tmp_path / "older"),
    ]
    for imported in ("3 reports with 4 passages", "0 reports with 0 passages"):
        assert (
            f"{imported} imported"
            in CliRunner().invoke(cli, arguments, env=environment).output
        )
    with build(Settings.from_env(environment)) as services:
        records = {
            (one.name, one.metadata["year"], one.chunks)
            for one in services.storage.documents.all()
        }
        assert records == {
            ("Kenya 2023", 2023, 2),
            ("Kenya 2022", 2022, 1),
            ("Peru 2023", 2023, 1),
        }
        passages = services.runtime.store.stored(
            services.storage.documents.all()[0].id
        )[0]
        assert all(passage.section and passage.page for passage in passages)

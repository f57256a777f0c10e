"""`migrate`: counts, a dry run, and the schema."""

import pytest

from chatbot.app.schema import newest, set_version
from chatbot.config.settings import Settings
from chatbot.database import open_database
from tests.app.cli.conftest import Run
from tests.app.test_older_rows import write_older_rows


@pytest.fixture
def older(environment: dict[str, str]) -> Settings:
    settings = Settings.from_env(environment)
    database = open_database(settings)
    write_older_rows(database)
    database.close()
    return settings


def test_a_dry_run_then_the_mend_then_nothing(run: Run, older: Settings) -> None:
    dry = run("migrate", "--dry-run")
    assert dry.status == 0
    assert f"schema version 1 -> {newest()}" in dry.out
    assert "years stored as text:       3 rows" in dry.out
    assert "vectors stored as arrays:   4 rows" in dry.out
    assert "rows without a report:      4 rows, 3 reports" in dry.out
    assert "filter fields left out:     4 rows" in dry.out
    assert "Nothing was changed" in dry.out
    mended = run("migrate").out
    assert f"schema version 1 -> {newest()}" in mended, "the dry run left it"
    assert "Mended." in mended
    after = run("migrate").out
    assert f"schema version {newest()}, up to date" in after
    assert "Nothing to mend." in after
    assert (
        "Kenya 2023"
        in run("documents", "list", "--country", "Kenya", EMBEDDING_MODEL="64").out
    )


def test_a_database_of_a_newer_program(run: Run, older: Settings) -> None:
    database = open_database(older)
    set_version(database, newest() + 1)
    database.close()
    result = run("migrate")
    assert result.status == 1
    assert "Update the program" in result.err

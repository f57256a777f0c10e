"""The figures of an older system's rows."""

from pathlib import Path

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Scope
from chatbot.extras.migration.mending import Mender
from tests.library.helpers import ingest, record_of, write
from tests.library.test_version_figures import report
from tests.rows import outside


def test_rows_of_an_older_system_have_theirs_once_they_are_registered(
    services: Services, settings: Settings, tmp_path: Path
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)")))
    name = record_of(services).collection
    rows = services.storage.database[name]
    row = next(rows.find({}))
    older = {
        key: row[key]
        for key in ("data", "data_embedding", "document_title", "document_name")
    }
    services.ingesting.delete_document(record_of(services))
    outside(services.storage.database, name).insert_one(
        {"_id": "older-row", **older, "country_name": "Mali", "year": "2021"}
    )
    assert services.ingesting.derive_figures() == 0
    fields, names = settings.filter_fields, settings.chunk_collections
    Mender(
        services.storage.database, collections=names, fields=fields, dry_run=False
    ).run(lambda rows: None)
    assert services.ingesting.derive_figures() == 1
    [figure] = services.storage.figures.find(Scope())
    assert (figure.subject, figure.text, figure.edition) == ("Mali", "40%", 2021)

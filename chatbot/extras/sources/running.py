"""The sources of the settings, and what keeps the library current with them."""

import threading
from collections.abc import Mapping

from ...app.services import Services
from ...domain import DocumentRecord
from ...domain.documents import MEGABYTE
from .connectors import Connector, read_sources
from .sync import Synchroniser


def sources_of(services: Services) -> Mapping[str, Connector]:
    """Return the sources of SOURCES by name. Raises SettingsError: naming what is wrong
    and what is valid.
    """
    return read_sources(services.settings.sources, services.ingesting.check_overrides)


def synchroniser_of(services: Services) -> Synchroniser:
    settings = services.settings
    ingesting = services.ingesting

    def delete(record: DocumentRecord) -> None:
        ingesting.delete_document(record, by="sync", is_absence=True)
        services.storage.audit.record("sync prune", record.source)

    return Synchroniser(
        database=services.storage.database,
        service=ingesting.service,
        download=ingesting.originals.download,
        delete=delete,
        originals=services.storage.files if settings.keep_files else None,
        tidy=ingesting.originals.tidy,
        max_bytes=settings.max_upload_mb * MEGABYTE,
        follow_links=settings.follow_links,
    )


def verify(services: Services) -> None:
    """Raises SettingsError: the server is to read sources that are wrong."""
    if services.settings.sync_every is not None:
        sources_of(services)


def follow(services: Services, stop: threading.Event) -> None:
    """Keep the library current until ``stop`` is set, if SYNC_EVERY says how often."""
    every = services.settings.sync_every
    if every is None:
        return
    synchroniser_of(services).follow(stop, lambda: sources_of(services), every)

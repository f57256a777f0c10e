"""Reading the attachments of questions."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ...config.settings import Settings
from ...domain import Document
from ...domain.cancellation import Cancellation
from ...library.loaders.isolation import ATTACHMENT_LIMITS, UPLOAD_LIMITS, LoaderPool
from ...library.loaders.ocr import INSTALLED
from ...library.sources import document_id

ATTACHMENT_READERS = 2
"""Processes of all workers that read attachments."""
MAX_ATTACHMENT_PICTURES = 3
"""Pages of one attachment that are read by OCR."""


class AttachmentReader:
    """Readers of their own: no question waits for a long ingestion or for another
    question's attachment.
    """

    def __init__(self, settings: Settings, closing: ExitStack) -> None:
        limits = ATTACHMENT_LIMITS
        pages = min(settings.ocr_pages, MAX_ATTACHMENT_PICTURES)
        if INSTALLED and pages:
            # The models of OCR need more memory than any other attachment.
            memory = UPLOAD_LIMITS.memory
            limits = replace(limits, memory=memory, ocr_pages=pages)
        self._loader = LoaderPool(
            ATTACHMENT_READERS,
            time_limit=settings.model_timeout,
            limits=limits,
            folder=settings.data_dir / "readers" / "attachments",
        )
        closing.callback(self._loader.close)

    def read(
        self, path: Path, name: str, cancel: Cancellation, caller: str = ""
    ) -> Document:
        """Read a file for one question; it is not stored. Raises LoadError,
        CancelledError.
        """
        loaded = self._loader.load(path, cancel=cancel, caller=caller)
        identity = f"attachment-{document_id(name)}"
        return Document(
            identity, name, loaded.title, name, {}, loaded.sections, pages=loaded.pages
        )

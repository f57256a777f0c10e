"""Files and pages that come with one question: read for it, and gone with it (R-A2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from flask import request

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..schema import Document, Event, Question, StepEvent
from ..services import Services
from .payloads import MOST_ATTACHMENTS, Attachment
from .uploads import accept_files, safe_name

Answers = Callable[[Question, Cancellation], Iterator[Event | Saved]]


class Attachments:
    """What a request brought along, kept in a folder of its own until the answer is given."""

    def __init__(self, services: Services, links: Sequence[Attachment]) -> None:
        """Takes the files of the current request. Raises InvalidRequestError, RequestEntityTooLarge."""
        self._services = services
        self._links = links
        files = accept_files(most=MOST_ATTACHMENTS) if request.files else []
        self._folder = TemporaryDirectory(prefix="report-chat-") if files or links else None
        self._paths: list[tuple[str, Path]] = []
        for number, file in enumerate(files):
            name = PurePosixPath(safe_name(file.filename)).name
            path = self._place(number, name)
            file.save(path)
            self._paths.append((name, path))

    def answer(self, question: Question, answers: Answers, cancel: Cancellation) -> Iterator[Event | Saved]:
        """The answer's events, after one for each attachment that is read."""
        if self._folder is None:
            yield from answers(question, cancel)
            return
        with self._folder:
            documents: list[Document] = []
            for number, (name, read) in enumerate(self._readers(cancel), start=1):
                yield StepEvent("attachments", f"Reading {name}")
                document = read()
                # Two may have the same name, and their passages are told apart by the id.
                documents.append(replace(document, id=f"{document.id}-{number}"))
            yield from answers(replace(question, attachments=tuple(documents)), cancel)

    def _readers(self, cancel: Cancellation) -> Iterator[tuple[str, Callable[[], Document]]]:
        for name, path in self._paths:
            yield name, lambda name=name, path=path: self._services.attached(path, name, cancel)  # type: ignore[misc]
        for number, link in enumerate(self._links, start=len(self._paths)):
            name = link.url or _file_name(link)
            yield name, lambda link=link, number=number: self._linked(link, number, cancel)  # type: ignore[misc]

    def _linked(self, link: Attachment, number: int, cancel: Cancellation) -> Document:
        if link.url is not None:
            path = self._services.originals.download(link.url, self._place(number, "page").parent, cancel)
            return self._services.attached(path, link.url, cancel)
        path = self._place(number, _file_name(link))
        path.write_text(link.text or "", encoding="utf-8")
        return self._services.attached(path, path.name, cancel)

    def _place(self, number: int, name: str) -> Path:
        assert self._folder is not None
        folder = Path(self._folder.name) / str(number)
        folder.mkdir(exist_ok=True)
        return folder / name


def _file_name(link: Attachment) -> str:
    return PurePosixPath(safe_name(link.name)).name

"""Which report an upload becomes: a new one, or one that is there and its sender may replace.

An upload's identity holds its owner, so that nobody's file takes the place of another's of the same name, nor of a
sample report. Where it might take the place of one that its sender may change, the sender is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import DocumentExistsError, ForbiddenError, InvalidRequestError
from ..ingestion.originals import UPLOADS, uploaded_name
from ..ingestion.sources import document_id
from ..repositories.documents import DocumentRepository
from ..schema import DocumentRecord

Choice = Literal["", "replace", "keep_both"]
CHOICES: tuple[Choice, ...] = get_args(Choice)[1:]


def conflict_choice(given: Any) -> Choice:
    """The field ``on_conflict``, "" = to be asked. Raises InvalidRequestError."""
    if given in CHOICES or given is None:
        return given or ""
    raise InvalidRequestError.for_field("on_conflict", f"unknown. Valid: {', '.join(CHOICES)}.", CHOICES)


@dataclass(frozen=True)
class Naming:
    """For one sender. ``may_change`` says of a report whether it is the sender's to change."""

    documents: DocumentRepository
    owner: str
    may_change: Callable[[DocumentRecord], bool]

    def identities(self, files: Sequence[tuple[str, str]], choice: Choice) -> list[str]:
        """Of files by name and SHA-256; in their order.

        Raises:
            DocumentExistsError: of one or more there is another content, and no choice was made.
            ForbiddenError: what was to be replaced is somebody else's.
        """
        wanted = {name for name, _ in files}
        same: dict[str, list[DocumentRecord]] = {}
        for record in self.documents.all():
            if (name := uploaded_name(record.source)) in wanted:
                same.setdefault(name, []).append(record)
        found = [self._identity(name, digest, same.get(name, []), choice) for name, digest in files]
        asked = [one for one in found if isinstance(one, dict)]
        if asked:
            names = ", ".join(one["name"] for one in asked)
            message = f"There is a report of this name already: {names}. Send on_conflict=replace or keep_both."
            raise DocumentExistsError(message, details=asked)
        return [str(one) for one in found]

    def page(self, url: str) -> str:
        """The same of a web page, which its sender reads again. Raises ForbiddenError: it is somebody else's."""
        known = self.documents.get(document_id(url))
        if known is not None and not self.may_change(known):
            raise ForbiddenError("This page is here already, and only who added it may read it again.")
        return url

    def _identity(self, name: str, digest: str, same: Sequence[DocumentRecord], choice: Choice) -> str | dict[str, Any]:
        mine = [record for record in same if self.may_change(record)]
        if not mine and same and choice == "replace":
            raise ForbiddenError(f"{name} is somebody else's; send on_conflict=keep_both to add yours beside it.")
        # The same again changes nothing; what failed has nothing to lose.
        for record in mine:
            if record.file_id == digest or record.status == "failed":
                return record.source
        if not mine or choice == "keep_both":
            return self._free(name, {record.source for record in same})
        if choice == "replace":
            return mine[0].source
        about = {"document_id": mine[0].id, "title": mine[0].title, "choices": list(CHOICES)}
        return {"field": "files", "name": name, **about}

    def _free(self, name: str, taken: set[str]) -> str:
        # A file's own name has no colon (`safe_name`).
        whose = hashlib.sha256(self.owner.encode()).hexdigest()[:8] if self.owner else ""
        number = 1
        while (identity := f"{UPLOADS}{whose}:{number}/{name}") in taken:
            number += 1
        return f"{UPLOADS}{name}" if not whose and number == 1 and f"{UPLOADS}{name}" not in taken else identity

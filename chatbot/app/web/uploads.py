"""`POST /api/files`: files are sent one by one, and other requests name them by their
ids.
"""

from collections.abc import Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Annotated

from flask import Response, after_this_request, request
from pydantic import Field, StringConstraints
from typing_extensions import TypedDict
from werkzeug.datastructures import FileStorage

from ...domain.errors import InvalidRequestError
from ...domain.validation import FILE_ID
from .callers import caller
from .files import (
    File,
    checked_files,
    is_form,
    on_disk,
    require_readable,
    safe_name,
)
from .routes import Body, Views, services

uploads = Views("files", __name__)
FIELD = "file"
FileId = Annotated[str, StringConstraints(pattern=FILE_ID)]


class NewFile(Body):
    """A file of a readable format."""

    file: File


class StoredFile(TypedDict):
    """A file that other requests name by its id, for a day."""

    id: str
    name: str
    bytes: int
    expires_at: Annotated[float, Field(description="Seconds since 1970.")]


@uploads.post(
    "/api/files",
    need="read",
    form=NewFile,
    files=1,
    status=201,
    errors=(413, 507),
)
def send_file() -> StoredFile:
    """Send a file that a later request of the same caller names by its id: one that
    adds documents, or a question that it is attached to. It is kept for a day.
    """
    is_form(most=1)
    sent = request.files.getlist(FIELD)
    if len(sent) != 1 or len(request.files) > 1 or request.form:
        raise InvalidRequestError.for_field(
            FIELD, "send one file in this field of a form (multipart/form-data)."
        )
    require_readable(sent[0])
    name = safe_name(sent[0].filename)
    with on_disk(sent[0]) as path:
        stored = services().storage.uploads.add(path, name, caller().identity)
    return {
        "id": stored.id,
        "name": stored.name,
        "bytes": stored.bytes,
        "expires_at": stored.expires_at,
    }


def _close(content: IO[bytes], response: Response) -> Response:
    content.close()
    return response


def sent_files(ids: Sequence[str], *, most: int) -> list[FileStorage]:
    """Return the files with these ids, with the members of archives in their place.
    Raises NotFoundError; and as `checked_files`.
    """
    waiting = services().storage.uploads
    files = []
    for id in ids:
        stored = waiting.find(id, caller().identity)
        content = TemporaryFile()  # noqa: SIM115  # open until the answer is made
        after_this_request(partial(_close, content))
        content.writelines(waiting.read(stored))
        content.seek(0)
        files.append(FileStorage(content, stored.name))
    return checked_files(files, most=most)

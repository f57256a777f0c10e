"""Files and fields of a multipart request, checked before anything is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from flask import current_app, request
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import InvalidRequestError
from ..loaders import suffixes
from ..services import Services

FORM_BYTES = 1_000_000
"""What the fields of a form may take besides its files."""
MOST_FILES = 200
MEGABYTE = 1024 * 1024
_UNSAFE = re.compile(r"[\x00-\x1f\x7f<>:\"|?*\\]+")
LONGEST_NAME = 120


def services() -> Services:
    found: Services = current_app.extensions["services"]
    return found


def wake_worker() -> None:
    """Have somebody look for queued files now."""
    current_app.extensions["run_worker"]()
    services().worker.wake()


def is_form(*, most: int) -> bool:
    """Whether this is a form that may bring up to ``most`` files along; then it may be as large as these."""
    if request.mimetype != "multipart/form-data":
        return False
    request.max_content_length = FORM_BYTES + most * services().settings.max_upload_mb * MEGABYTE
    return bool(request.form or request.files)


def accept_files(*, most: int = MOST_FILES) -> list[FileStorage]:
    """The files of a multipart request, each with a suffix that is read, none too large and none empty.

    Raises:
        InvalidRequestError: no file, too many, or one that is not read; names it.
        RequestEntityTooLarge: a file, or all together, are larger than is allowed.
    """
    largest = services().settings.max_upload_mb
    files = [file for file in request.files.getlist("files") if file.filename]
    if not files:
        raise InvalidRequestError.for_field("files", "send at least one file in the field `files`.")
    if len(files) > most:
        raise InvalidRequestError.for_field("files", f"at most {most} files at a time, these are {len(files)}.")
    readable = suffixes()
    for file in files:
        name = safe_name(file)
        if PurePosixPath(name).suffix.lower() not in readable:
            message = f"{name}: this format is not read. Readable: {', '.join(readable)}."
            raise InvalidRequestError.for_field("files", message, readable)
        if _size(file) > largest * MEGABYTE:
            raise RequestEntityTooLarge(f"{name} is larger than {largest} MB, the limit (MAX_UPLOAD_MB).")
    names = [safe_name(file) for file in files]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidRequestError.for_field("files", f"the same name twice: {', '.join(sorted(twice))}.")
    return files


def safe_name(file: FileStorage) -> str:
    """The file's name for people and for its document's identity: relative, without control characters."""
    parts = PurePosixPath(_UNSAFE.sub("_", (file.filename or "").replace("\\", "/"))).parts
    kept = [part for part in parts if part not in {"/", ".", ".."}]
    return "/".join(kept)[-LONGEST_NAME:].strip("/. ") or "file"


@contextmanager
def on_disk(file: FileStorage) -> Iterator[Path]:
    """The file under its own name, in a folder that is gone afterwards."""
    with TemporaryDirectory(prefix="report-chat-") as folder:
        path = Path(folder) / PurePosixPath(safe_name(file)).name
        file.save(path)
        yield path


def form_fields() -> dict[str, Any]:
    """The text fields of the form; an empty one counts as not given."""
    return {name: value.strip() for name, value in request.form.items() if value.strip()}


def form_json(field: str) -> Any:
    """A form field's JSON. Raises InvalidRequestError."""
    try:
        return json.loads(request.form.get(field, ""))
    except (ValueError, RecursionError):
        raise InvalidRequestError.for_field(field, "must be the JSON body of the request, as text.") from None


def _size(file: FileStorage) -> int:
    size = file.stream.seek(0, 2)
    file.stream.seek(0)
    return size

"""Files that requests send, checked, and files that are sent back."""

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import quote

from flask import g, request
from pydantic import Field
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from ...domain.documents import MEGABYTE
from ...domain.errors import InvalidRequestError
from ...library.archives import unpack
from ...library.loaders import ARCHIVE, suffixes
from .routes import current_route, parse_json, services

FORM_BYTES = 1_000_000
"""Bytes that the fields of a form may take besides its files."""
MAX_FILES = 200
"""Files of one upload; a folder with more is sent in parts."""
FILES = "files"
File = Annotated[
    str, Field(json_schema_extra={"contentMediaType": "application/octet-stream"})
]
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f<>:\"|?*\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)
LONGEST_NAME = 200
"""Bytes: file systems hold 255 for a name."""
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMULA = re.compile(r"\s*[=+@＝＋－＠-]|[\t\r\n]")
"""How a text begins that spreadsheets read as a formula; some drop the blanks before
it.
"""


def is_form(*, most: int) -> bool:
    """Return whether this is a form, which may then be as large as ``most`` files.
    Where the description of the API has no form, it is deprecated.
    """
    if request.mimetype != "multipart/form-data":
        return False
    route = current_route()
    g.is_deprecated = route is not None and route.form is None
    request.max_content_length = largest_body(most)
    request.max_form_memory_size = FORM_BYTES
    return True


def largest_body(files: int) -> int:
    """Return the maximum bytes of the current request, a form with so many files."""
    if request.mimetype != "multipart/form-data":
        files = 0
    return FORM_BYTES + files * services().settings.max_upload_mb * MEGABYTE


def form_json(field: str) -> Any:
    """Return the JSON of a form's only field. Raises InvalidRequestError."""
    for name in request.form:
        if name != field:
            raise InvalidRequestError.for_field(
                name, f"unknown field. Valid: {field}, {FILES}.", [field, FILES]
            )
    try:
        return parse_json(request.form.get(field, ""))
    except (ValueError, RecursionError):
        message = (
            "must be JSON: the text of the body that is sent as application/json where "
            "there are no files."
        )
        raise InvalidRequestError.for_field(field, message) from None


def accept_files(*, most: int = MAX_FILES) -> list[FileStorage]:
    """Return the files of a form, each of a readable format and not too large. Raises
    InvalidRequestError: no file, too many, or one that cannot be read; names it;
    RequestEntityTooLarge: a file, or all together, are too large.
    """
    for field in request.files:
        if field != FILES:
            raise InvalidRequestError.for_field(
                field, f"files are taken from the field `{FILES}` only.", [FILES]
            )
    files = [file for file in request.files.getlist(FILES) if file.filename]
    return checked_files(files, most=most)


def checked_files(files: Sequence[FileStorage], *, most: int) -> list[FileStorage]:
    """Return these files with the members of archives in their place. Raises as
    `accept_files`.
    """
    if not files:
        raise InvalidRequestError.for_field(
            FILES, f"send at least one file in the field `{FILES}`."
        )
    if len(files) > most:
        raise InvalidRequestError.for_field(
            FILES, f"at most {most} files at a time, these are {len(files)}."
        )
    for file in files:
        require_readable(file)
    files = [
        each
        for file in files
        for each in _members(file, safe_name(file.filename), most)
    ]
    if not 0 < len(files) <= most:
        raise InvalidRequestError.for_field(
            FILES, f"from 1 to {most} files at a time, these are {len(files)}."
        )
    names = [safe_name(file.filename) for file in files]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidRequestError.for_field(
            FILES, f"the same name twice: {', '.join(sorted(twice))}."
        )
    return files


def require_readable(file: FileStorage) -> None:
    """Raises InvalidRequestError, RequestEntityTooLarge: see `accept_files`."""
    max_mb = services().settings.max_upload_mb
    readable = (*suffixes(), ARCHIVE)
    name = safe_name(file.filename)
    if PurePosixPath(name).suffix.lower() not in readable:
        message = f"{name}: this format is not read. Readable: {', '.join(readable)}."
        raise InvalidRequestError.for_field(FILES, message, readable)
    if size_of(file) > max_mb * MEGABYTE:
        raise RequestEntityTooLarge(f"{name} is larger than {max_mb} MB, the limit.")


def _members(file: FileStorage, name: str, most: int) -> Iterator[FileStorage]:
    """Yield a file, or the members of an archive, whose formats are checked when they
    are read. Raises LoadError.
    """
    if not name.lower().endswith(ARCHIVE):
        yield file
        return
    max_bytes = services().settings.max_upload_mb * MEGABYTE
    with on_disk(file) as path:
        for member, place in unpack(
            path, path.parent / "members", most=most, max_bytes=max_bytes
        ):
            # The file is deleted with the folder, and stays readable while it is open.
            yield FileStorage(place.open("rb"), f"{name}/{member}")


def size_of(file: FileStorage) -> int:
    size = int(file.stream.seek(0, 2))
    file.stream.seek(0)
    return size


def digest_of(file: FileStorage) -> str:
    """Return the SHA-256 of the content, its id in the store."""
    digest = hashlib.sha256()
    while piece := file.stream.read(MEGABYTE):
        digest.update(piece)
    file.stream.seek(0)
    return digest.hexdigest()


@contextmanager
def on_disk(file: FileStorage) -> Iterator[Path]:
    """Save the file under its own name in a temporary folder."""
    with TemporaryDirectory(prefix="report-chat-") as folder:
        path = Path(folder) / last_part(file.filename)
        file.save(path)
        file.close()
        yield path


def safe_name(given: str | None) -> str:
    """Return a file's name for people and for its document's identity: relative,
    printable, short enough for a disk.
    """
    composed = unicodedata.normalize(
        "NFC", (given or "").replace("\\", "/")
    )  # macOS sends accents separately
    kept = [
        part
        for part in PurePosixPath(_UNSAFE.sub("_", composed)).parts
        if part not in {"/", ".", ".."}
    ]
    name = "/".join(kept).strip("/. ") or "file"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    # The end has the suffix; the digest distinguishes names with the same end.
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{digest}-{name.encode()[-LONGEST_NAME + len(digest) + 1 :].decode(errors='ignore')}"  # noqa: E501


def last_part(given: str | None) -> str:
    return PurePosixPath(safe_name(given)).name


def disposition(way: str, name: str) -> str:
    """Return the Content-Disposition of a file, in ASCII and one line for any name (RFC
    6266).
    """
    name = last_part(name)
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    full = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'{way}; filename="{plain}"{full}'


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a table for spreadsheets. None is an empty cell; a text that begins like a
    formula gets a quote.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                k: f"'{v}" if isinstance(v, str) and FORMULA.match(v) else v
                for k, v in row.items()
            }
        )
    return text.getvalue()

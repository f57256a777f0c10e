"""The current request: the services it uses, and its JSON, form or query string, checked; how a file is sent back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from flask import Response, current_app, request
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from ...config.settings import MEGABYTE
from ...domain import Scope
from ...domain.errors import LONGEST_SHOWN, IngestingError, InvalidRequestError
from ...domain.validation import NO_OBJECT, POSITION, parse
from ...library.loaders import suffixes

if TYPE_CHECKING:
    from ...library.samples import SampleReports
    from ..services import Services

T = TypeVar("T")
MOST_URLS = 50
FORM_BYTES = 1_000_000
"""What the fields of a form may take besides its files."""
MOST_FILES = 200
FILES = "files"
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f<>:\"|?*\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
LONGEST_NAME = 200
"""Bytes: file systems hold 255 for a name."""
COLLECTIONS = "collections"
RANGE_ENDS = ("gte", "lte")
DIGITS = 9
"""Digits of a number, at most: Python refuses to read thousands of them."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Prefixes that spreadsheets read as formulas."""


def services() -> Services:
    """Return the services of the application that serves the current request."""
    product: Services = current_app.extensions["services"]
    return product


def samples() -> SampleReports | None:
    """Return the loading of the sample reports, None where it is off or has not begun."""
    loading: SampleReports | None = current_app.extensions.get("samples")
    return loading


def require_samples() -> None:
    """Raises IngestingError in the first moments of a first start, when "not found" could be wrong."""
    loading = samples()
    if loading is not None and loading.unknown:
        count = services().storage.documents.holdings(Scope()).documents
        if not count or count < loading.total:
            raise IngestingError("The sample reports are being read.")


def wake_worker() -> None:
    """Have a worker read the queued files now."""
    current_app.extensions["run_worker"]()
    services().ingesting.worker.wake()


def json_body() -> Any:
    """Return the current request's JSON, None where it has none or cannot be read.

    Raises:
        InvalidRequestError: it has a name twice.
    """
    try:
        return _parse_json(request.get_data()) if request.is_json else None
    except (ValueError, RecursionError):
        return None


def _parse_json(text: str | bytes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # The last one would win: empty filters, and the search is wider than the first ones say.
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if name in fields:
                raise InvalidRequestError.for_field(name[:LONGEST_SHOWN], "is there twice.")
            fields[name] = value
        return fields

    return json.loads(text, object_pairs_hook=unique)


def json_object(instead: str = NO_OBJECT) -> dict[str, Any]:
    """Return the current request's JSON object. Raises InvalidRequestError with the message ``instead``."""
    body = json_body()
    if not isinstance(body, dict):
        raise InvalidRequestError(instead)
    return body


def web_pages(url: str | None, urls: list[str] | None) -> dict[str, str]:
    """Return the addresses of a request by page, without what follows a #.

    Raises:
        InvalidRequestError: both or none of the fields, or the same page twice.
    """
    if url is not None:
        urls = [url] if urls is None else None
    if urls is None:
        message = f"send one address in `url` or up to {MOST_URLS} in `urls`, http(s)."
        raise InvalidRequestError.for_field("url", message)
    pages = {each.partition("#")[0]: each for each in urls}
    if len(pages) < len(urls):
        raise InvalidRequestError.for_field("urls", "the same page twice.")
    return pages


def is_form(*, most: int) -> bool:
    """Return whether this is a form, which may then be as large as ``most`` files."""
    if request.mimetype != "multipart/form-data":
        return False
    request.max_content_length = FORM_BYTES + most * services().settings.max_upload_mb * MEGABYTE
    request.max_form_memory_size = FORM_BYTES
    return True


def accept_files(*, most: int = MOST_FILES) -> list[FileStorage]:
    """Return the files of a form, each of a readable format and not too large.

    Raises:
        InvalidRequestError: no file, too many, or one that cannot be read; names it.
        RequestEntityTooLarge: a file, or all together, are too large.
    """
    max_mb = services().settings.max_upload_mb
    for field in request.files:
        if field != FILES:
            raise InvalidRequestError.for_field(field, f"files are taken from the field `{FILES}` only.", [FILES])
    files = [file for file in request.files.getlist(FILES) if file.filename]
    if not files:
        raise InvalidRequestError.for_field(FILES, f"send at least one file in the field `{FILES}`.")
    if len(files) > most:
        raise InvalidRequestError.for_field(FILES, f"at most {most} files at a time, these are {len(files)}.")
    readable = suffixes()
    names = [safe_name(file.filename) for file in files]
    for file, name in zip(files, names, strict=True):
        if PurePosixPath(name).suffix.lower() not in readable:
            message = f"{name}: this format is not read. Readable: {', '.join(readable)}."
            raise InvalidRequestError.for_field(FILES, message, readable)
        if size_of(file) > max_mb * MEGABYTE:
            raise RequestEntityTooLarge(f"{name} is larger than {max_mb} MB, the limit (MAX_UPLOAD_MB).")
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidRequestError.for_field(FILES, f"the same name twice: {', '.join(sorted(twice))}.")
    return files


def size_of(file: FileStorage) -> int:
    size = int(file.stream.seek(0, 2))
    file.stream.seek(0)
    return size


def safe_name(given: str | None) -> str:
    """Return a file's name for people and for its document's identity: relative, printable, short enough for a disk."""
    composed = unicodedata.normalize("NFC", (given or "").replace("\\", "/"))  # macOS sends accents separately
    kept = [part for part in PurePosixPath(_UNSAFE.sub("_", composed)).parts if part not in {"/", ".", ".."}]
    name = "/".join(kept).strip("/. ") or "file"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    # The end has the suffix; the digest distinguishes names with the same end.
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{digest}-{name.encode()[-LONGEST_NAME + len(digest) + 1 :].decode(errors='ignore')}"


def disposition(way: str, name: str) -> str:
    """Return the Content-Disposition of a file, in ASCII and one line for any name (RFC 6266)."""
    name = PurePosixPath(safe_name(name)).name
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    full = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'{way}; filename="{plain}"{full}'


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a table for spreadsheets. None is an empty cell; a text that begins like a formula gets a quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        cells = ["" if (value := row.get(column)) is None else value for column in columns]
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in cells])
    return text.getvalue()


def csv_response(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], name: str) -> Response:
    """Return a table as a file to download."""
    headers = {"Content-Disposition": disposition("attachment", name)}
    return Response(csv_text(rows, columns), mimetype="text/csv", headers=headers)


@contextmanager
def on_disk(file: FileStorage) -> Iterator[Path]:
    """Save the file under its own name in a temporary folder."""
    with TemporaryDirectory(prefix="report-chat-") as folder:
        path = Path(folder) / PurePosixPath(safe_name(file.filename)).name
        file.save(path)
        yield path


def digest_of(file: FileStorage) -> str:
    """Return the SHA-256 of the content, its id in the store."""
    digest = hashlib.sha256()
    while piece := file.stream.read(MEGABYTE):
        digest.update(piece)
    file.stream.seek(0)
    return digest.hexdigest()


def form_fields() -> dict[str, Any]:
    """Return the text fields of the form that are not blank."""
    return {name: value.strip() for name, value in request.form.items() if value.strip()}


def form_json(field: str) -> Any:
    """Return the JSON of a form's only field. Raises InvalidRequestError."""
    for name in request.form:
        if name != field:
            raise InvalidRequestError.for_field(name, f"unknown field. Valid: {field}, {FILES}.", [field, FILES])
    try:
        return _parse_json(request.form.get(field, ""))
    except (ValueError, RecursionError):
        message = "must be JSON: the text of the body that is sent as application/json where there are no files."
        raise InvalidRequestError.for_field(field, message) from None


def _digits_only(value: Any) -> Any:
    if isinstance(value, str) and not (value.isdecimal() and len(value) <= DIGITS):
        raise PydanticCustomError("int_parsing", "must be a whole number.")
    return value


Number = Annotated[int, BeforeValidator(_digits_only)]
Position = Annotated[str, StringConstraints(pattern=POSITION), Field(description="The `next` of the previous page.")]
"""The number of entries before the page."""


def page_size(default: int, most: int) -> Any:
    """Return the parameter `limit` of a list."""
    return Field(default, ge=1, le=most, description="Maximum number of entries.")


class Query(BaseModel):
    """The query string of an operation; other names are ignored."""


class ScopeQuery(Query):
    """A query string that also has the filter fields and `collections`; any other name is an error."""


class Page(Query):
    """A page of a list."""

    limit: Number = page_size(50, 200)
    cursor: Position = "0"

    @property
    def start(self) -> int:
        return int(self.cursor)

    def next(self, total: int) -> str | None:
        """Return the cursor of the page after this one; None where this is the last of ``total`` entries."""
        end = self.start + self.limit
        return str(end) if end < total else None

    def of(self, name: str, entries: Sequence[T], show: Callable[[T], Any] = lambda entry: entry) -> dict[str, Any]:
        """Return this page of all ``entries``, which ``show`` makes into what the API shows, as `listing` describes."""
        page = entries[self.start : self.start + self.limit]
        return {name: list(map(show, page)), "total": len(entries), "next": self.next(len(entries))}


def answer_type(type_name: str, **fields: Any) -> Any:
    """Return the type of an answer that is an object with these fields."""
    return TypedDict(type_name, fields)  # type: ignore[operator]


def listing(type_name: str, name: str, entry: Any) -> Any:
    """Return the type of a page of a list: its entries, the number of all, and the cursor of the next page."""
    return answer_type(type_name, **{name: list[entry], "total": int, "next": str | None})


RENAMED = {"offset": "cursor", "after": "cursor", "before": "cursor"}
"""Parameters of API 1 and their new names."""
AnyQuery = TypeVar("AnyQuery", bound=Query)


def read_query(model: type[AnyQuery]) -> AnyQuery:
    """Return the query string of the current request. Raises InvalidRequestError."""
    sent: dict[str, str] = {}
    for name, values in request.args.lists():
        if (new := RENAMED.get(name)) in model.model_fields:
            raise InvalidRequestError.for_field(name, f"is now {new}: send the `next` of the previous page.", [new])
        if name in model.model_fields:
            if len(values) > 1:
                raise InvalidRequestError.for_field(name, "is there twice.")
            sent[name] = values[0]
    return parse(model, sent)


def query_filters(query: ScopeQuery) -> tuple[dict[str, Any], list[str] | None]:
    """Return the filters and collections of the query string, None without collections.

    Repeated keys are alternatives; `year.gte` and `year.lte` give a range.
    """
    filters: dict[str, Any] = {}
    ranges: dict[str, dict[str, str]] = {}
    for name, values in request.args.lists():
        if name == COLLECTIONS or name in type(query).model_fields:
            continue
        field, _, end = name.partition(".")
        if end in RANGE_ENDS:
            ranges.setdefault(field, {})[end] = values[-1]
        else:
            filters[name] = values
    for field in filters.keys() & ranges.keys():
        raise InvalidRequestError.for_field(field, "takes values or a range, not both.")
    return {**filters, **ranges}, request.args.getlist(COLLECTIONS) or None

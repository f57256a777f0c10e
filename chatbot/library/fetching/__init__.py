"""Download a web address as a file that a loader can read. Each request and redirect
goes to an address that was checked just before. Time, size and type are bounded. The
file is named and encoded as its loader expects.
"""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, unquote, urljoin

from ...domain import Cancellation
from ...domain.errors import LoadError, read_table
from .transport import (
    PUBLIC,
    Deadline,
    FetchProblem,
    PageResponse,
    Rules,
    parse_url,
    request_page,
    url_for_message,
)

MAX_BYTES = 50 * 1024**2
MAX_REDIRECTS = 5
READABLE: dict[str, str] = read_table(__package__, "types")
# Types without information, or that some servers give to any download: the name
# decides.
_GENERIC_TYPES = {
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-download",
    "application/force-download",
    "application/vnd.ms-excel",
}
_SUFFIX_ALIASES = {
    ".htm": ".html",
    ".xhtml": ".html",
    ".markdown": ".md",
    ".text": ".txt",
}
_NAMES = frozenset(READABLE.values())
_TEXTUAL = frozenset({".html", ".csv", ".json", ".md", ".txt"})
_READABLE_FORMATS = (
    "HTML, PDF, Word (.docx), Excel (.xlsx), PowerPoint (.pptx), CSV, JSON, Markdown, "
    "plain text"
)

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE | re.ASCII)
# Not all of Python's encodings: some (punycode) take unbounded time.
_ENCODING = re.compile(
    r"iso-8859-\d{1,2}|windows-\d{3,4}|shift_jis|euc-(jp|kr)|gb(k|2312|18030)|big5|koi8-[ru]|utf-16(le|be)?"
)
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
_PLAIN_NAME = re.compile(r'filename\s*=\s*(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)
_RESERVED = frozenset('/\\:*?"<>|%')


def fetch(
    url: str,
    folder: Path,
    *,
    rules: Rules = PUBLIC,
    cancel: Cancellation | None = None,
    max_bytes: int = MAX_BYTES,
    seconds: float = 30.0,
    also: Mapping[str, str] = READABLE,
) -> Path:
    """Download ``url`` into ``folder``, which must exist, in ``seconds`` for all
    redirects together, and return the file. ``also``: suffixes by media type of what
    the caller reads besides documents. Raises LoadError: it was refused, failed or was
    cancelled; then nothing is left in ``folder``.
    """
    deadline = Deadline(seconds, cancel)
    current = url = url.strip()
    try:
        target = parse_url(current, rules.ports)
        for _ in range(MAX_REDIRECTS + 1):
            with request_page(target, rules, deadline, max_bytes) as response:
                location = response.redirect_location
                if location is None:
                    return _saved(
                        response, target, folder, max_bytes, {**READABLE, **also}
                    )
            try:
                current = urljoin(target.geturl(), location)
            except ValueError as error:
                raise FetchProblem(
                    "it redirects to an invalid address. Use the one the browser "
                    "ends at."
                ) from error
            encrypted = target.scheme == "https"
            target = parse_url(current, rules.ports)
            if encrypted and target.scheme == "http":
                raise FetchProblem(
                    "an encrypted page leads to an unencrypted one, which is not "
                    "followed."
                )
        raise FetchProblem(
            f"it redirects more than {MAX_REDIRECTS} times. Use the address the "
            "browser ends at."
        )
    except FetchProblem as problem:
        redirected = (
            "" if current == url else f" redirected to {url_for_message(current)}:"
        )
        raise LoadError(f"{url_for_message(url)}:{redirected} {problem}") from problem


def check_url(url: str, rules: Rules = PUBLIC) -> None:
    """Raise LoadError if `send` would refuse an address before it looks its host up."""
    try:
        parse_url(url, rules.ports)
    except FetchProblem as problem:
        raise LoadError(f"{url_for_message(url)}: {problem}") from problem


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    rules: Rules,
    cancel: Cancellation,
    seconds: float,
    max_bytes: int,
) -> int:
    """POST to an address that somebody named and return the status of the answer.
    Addresses are checked as those of `fetch`; no redirect is followed. Raises
    LoadError: it was refused, or could not be delivered.
    """
    deadline = Deadline(seconds, cancel)
    try:
        target = parse_url(url, rules.ports)
        with request_page(
            target, rules, deadline, max_bytes, body=body, headers=headers
        ) as response:
            return response.status
    except FetchProblem as problem:
        raise LoadError(f"{url_for_message(url)}: {problem}") from problem


def _saved(
    response: PageResponse,
    url: SplitResult,
    folder: Path,
    max_bytes: int,
    types: Mapping[str, str],
) -> Path:
    response.check()
    stem, suffix = _file_name(response.headers, url, types)
    try:
        for number in count(
            1
        ):  # an existing file, also of a parallel fetch, is left alone
            path = folder / (
                f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}"
            )
            with suppress(FileExistsError):
                file = path.open("xb")
                break
        try:
            with file:
                for piece in response.body(max_bytes):
                    file.write(piece)
            _write_as_utf8(path, response.headers)
        except BaseException:
            path.unlink()
            raise
    except OSError as error:  # of the file: the network's errors are FetchProblems
        raise FetchProblem(f"it cannot be stored here: {error.strerror}.") from error
    return path


def _file_name(
    headers: Mapping[str, str], url: SplitResult, types: Mapping[str, str]
) -> tuple[str, str]:
    """Return a stem that is safe on any file system (at most 100 bytes), and the suffix
    of the media type. Raises FetchProblem: no loader reads this type.
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    disposition = headers.get("content-disposition", "")
    if extended := _EXTENDED_NAME.search(disposition):
        name = unquote(extended[1])
    else:
        plain = _PLAIN_NAME.search(disposition)
        name = (plain[1] or plain[2] or "") if plain else ""
    name = name or unquote(PurePosixPath(url.path).name) or url.hostname or ""
    named = PurePosixPath(name.lower()).suffix
    named = _SUFFIX_ALIASES.get(named, named)
    # Raw files of any text format are often served as plain text.
    by_name = kind in _GENERIC_TYPES or (kind == "text/plain" and named in _TEXTUAL)
    suffix = named if by_name else types.get(kind, "")
    if suffix not in types.values():
        problem = (
            f"its type is {kind}"
            if _MEDIA_TYPE.fullmatch(kind)
            else "the server does not say what it is"
        )
        raise FetchProblem(
            f"{problem}, which is not read. Readable: {_READABLE_FORMATS}."
        )
    stem = name[: name.rindex(".")] if named in _NAMES else name
    return _safe(stem) or "page", suffix


def _safe(stem: str) -> str:
    """Remove paths, invisible characters (line breaks, direction marks) and what a file
    system reserves.
    """
    kept = []
    for character in unicodedata.normalize("NFC", stem):
        category = unicodedata.category(character)[0]
        kept.append(
            " "
            if category == "Z"
            else "-"
            if category == "C" or character in _RESERVED
            else character
        )
    text = re.sub(r"-{2,}", "-", " ".join("".join(kept).split()))
    # File systems take 255 bytes for a name, of which a number and the suffix need
    # some.
    return text.strip(" .-").encode()[:100].decode(errors="ignore").strip(" .-")


def _write_as_utf8(path: Path, headers: Mapping[str, str]) -> None:
    """Rewrite a text in UTF-8: its encoding may be named in the header only, which a
    file does not have. A file that is UTF-8 already, or does not match the header,
    stays as it is for the loader to judge.
    """
    charset = _CHARSET.search(headers.get("content-type", ""))
    name = charset[1].lower() if charset else ""
    if path.suffix not in _TEXTUAL or not _ENCODING.fullmatch(name):
        return
    data = path.read_bytes()
    if b"\0" not in data:
        with suppress(UnicodeDecodeError):
            data.decode()
            return
    with suppress(UnicodeDecodeError, LookupError):
        # On the web Latin-1 means its superset, as in every browser.
        text = data.decode("windows-1252" if name == "iso-8859-1" else name)
        path.write_text(
            text, encoding="utf-8-sig", newline=""
        )  # the mark outweighs what the page says of itself

"""Bytes to characters in their own encoding."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ...domain.errors import LoadError

MAX_TEXT_BYTES = 50 * 1024 * 1024
SAMPLE_BYTES = 256 * 1024
"""The part of a file that an encoding is guessed from. The whole file is then decoded
strictly.
"""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODINGS = (
    "cp1252",
    "cp1250",
    "iso8859_2",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "koi8_r",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
)
"""The encodings of desktop programs besides UTF-8."""
_WESTERN = (
    "",
    "áãåçéëíñóôöü",
    "àâæçéèêëîïôœùûüÿ",
    "äöüß",
    "áéíóúüñºª",
    "áàâãçéêíóôõúüºª",
    "àèéìíîòóùúºª",
    "åäöæøé",
    "áéíóúýðþæö",
    "ëïéèöüó",
)
"""Letters beyond ASCII in English, in the names of countries, in French, German,
Spanish, Portuguese, Italian, the Nordic languages, Icelandic and Dutch.
"""
_WESTERN_MARKS = frozenset("“”‘’„–—…•·«»‹›€£¥§©®°±×÷½¼¾µ¿¡´\u00a0\u00ad")
_SIGN_IN_WORD = re.compile(
    "[^\\W\\d_][\x80-\xa9\xab\xac\xae-\xb4\xb6\xb8\xb9\xbb-\xbf\u02c0-\u02df\u201a-\u2122\u2500-\u25ff]+[^\\W\\d_]"
)
"""A sign between two letters, such as the "ł" of one encoding read in another:
"m³ody".
"""
_POWER = re.compile(r"(?<=m)[²³](?!\w)")


def read_text(path: Path) -> str:
    """Return the file's text, decoded from its own encoding, with normalised line ends.
    Raises LoadError: it cannot be read, is too large, is not text in a known encoding,
    or has no text.
    """
    with opened(path) as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        limit = MAX_TEXT_BYTES // (1024 * 1024)
        raise LoadError(
            f"{path.name} is larger than {limit} MB, the limit for a text file. "
            "Split it."
        )
    text = decode(data, path.name)
    if not text.strip():
        raise LoadError(f"{path.name} has no text.")
    return text


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file. Raises LoadError: the system cannot read it, then or later in the
    block.
    """
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> LoadError:
    return LoadError(f"{path.name} cannot be read: {error.strerror}.")


def decode(data: bytes, name: str) -> str:
    """Decode text and `clean` it. Messages call the file ``name``. Raises LoadError: it
    is not text, or the encoding is unknown.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return clean(_decode_strictly(data, encoding, name))
    if _is_binary(data):
        raise LoadError(f"{name} is not a text file.")
    try:
        return clean(data.decode())
    except UnicodeDecodeError as error:
        if (mixed := _mostly_utf8(data)) is not None:
            return clean(mixed)
        guessed = guess_encoding(data)
        if guessed is None:
            raise LoadError(
                f"{name} is not UTF-8 text. Save it as UTF-8 and try again."
            ) from error
    return clean(_decode_strictly(data, guessed, name))


def decode_sample(head: bytes) -> str | None:
    """Decode the beginning of a file, None if it is binary. It may end within a
    character.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return head.decode(encoding, errors="replace")
    return None if _is_binary(head) else head.decode(errors="replace")


def clean(text: str) -> str:
    """Normalise line ends; replace control characters by spaces, and surrogates, which
    UTF-8 cannot write.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def _mostly_utf8(data: bytes) -> str | None:
    """Decode UTF-8 with a few lines that another program added in its own Western
    encoding; None if it is no such.
    """
    texts: list[str] = []
    strays = foreign = 0
    for line in data.split(b"\n"):
        try:
            texts.append(line.decode())
            foreign += not line.isascii()
        except UnicodeDecodeError:
            strays += 1
            texts.append(line.decode("cp1252", errors="replace"))
    # Two lines of UTF-8 with letters beyond ASCII outweigh a stray one.
    return "\n".join(texts) if 0 < 2 * strays <= foreign else None


def guess_encoding(data: bytes) -> str | None:
    """Guess the encoding of text that is not UTF-8. None if several fit: wrong letters
    are worse than a refusal.
    """
    sample = data[:SAMPLE_BYTES]
    if len(data) > SAMPLE_BYTES:
        lines, _, _ = sample.rpartition(b"\n")
        if lines:
            sample = lines
    # Western text has few accented letters, so encodings look alike; the alphabets of
    # its languages differ.
    western = sample.decode("cp1252", errors="replace")
    if _is_western(western):
        return "cp1252"
    from charset_normalizer import from_bytes  # takes 30 ms, and is rarely needed

    guesses = from_bytes(sample, cp_isolation=list(_ENCODINGS))
    matches = [match for match in guesses if not _SIGN_IN_WORD.search(str(match))]
    matches.sort(key=lambda match: (match.chaos, -match.coherence))
    if not matches:
        return None
    best, *others = matches
    if best.coherence < 0.1:
        return None
    text = str(best)
    for match in others:
        if match.chaos > best.chaos + 0.02:
            continue
        if match.coherence < best.coherence - 0.05:
            continue
        if str(match) != text:
            return None
    return best.encoding


def _is_western(text: str) -> bool:
    """Return whether its few accented letters are those of one western language."""
    foreign = []
    for char in _POWER.sub("", text):
        if char.isascii():
            continue
        if char in _WESTERN_MARKS:
            continue
        foreign.append(char.lower())
    letter_count = 0
    for char in text:
        if char.isalpha():
            letter_count += 1
    if len(foreign) * 2 < letter_count:
        for letters in _WESTERN:
            if set(foreign) <= set(letters):
                return True
    return False


def _is_binary(data: bytes) -> bool:
    """Return whether it has a NUL, or more control characters than text has by
    accident.
    """
    controls = len(data) - len(data.translate(None, bytes((*range(9), *range(14, 32)))))
    return b"\0" in data or controls * 200 > len(data)


def _decode_strictly(data: bytes, encoding: str, name: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise LoadError(
            f"{name} is damaged: it begins as {encoding} text and does not "
            "continue as such. Save it again as UTF-8."
        ) from error
    if "\0" in text:
        raise LoadError(f"{name} is not a text file.")
    return text

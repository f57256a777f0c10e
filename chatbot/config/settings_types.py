"""Types of single settings: how their text is read, and which values are refused;
presets, which set several; and files that settings name. Each check raises ValueError
with the form that would be right; `Settings` adds the name.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from ..domain.costs import ModelPrice, read_prices
from ..domain.errors import InvalidRequestError, SettingsError, read_table
from ..domain.tables import Texts

CHUNKING = ("chunk_strategy", "chunk_size", "chunk_overlap")
AT_INGESTION = (*CHUNKING, "summaries")
"""A preset named in a request does not change these: the reports are read already."""
_TABLE = read_table(__package__, "presets")
PRESETS: dict[str, dict[str, Any]] = {
    name: {**_TABLE["every"], **preset} for name, preset in _TABLE["presets"].items()
}
"""The fields of `Settings` that each preset sets."""
INDEX_OPTIONS = {"hnswOptions", "indexingMethod", "numPartitions"}
OWN_COLLECTIONS = frozenset(_TABLE["own_collections"])
"""The program's own collections, which cannot hold passages."""
MAX_COLLECTION_NAME_CHARACTERS = 120
ALL_EXTRAS, NO_EXTRAS = "all", "none"
T = TypeVar("T")


def query_time(name: str) -> dict[str, Any]:
    """Return the figures of a preset that a request can change."""
    return {
        field: value
        for field, value in PRESETS[name].items()
        if field not in AT_INGESTION
    }


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _each(pattern: str, form: str) -> AfterValidator:
    """Check that each part of a list matches ``pattern`` and that no part is
    repeated.
    """

    def check(parts: Texts) -> Texts:
        if wrong := next(
            (part for part in parts if not re.fullmatch(pattern, part)), None
        ):
            raise ValueError(f"{wrong!r} should be {form}")
        if len(set(parts)) < len(parts):
            raise ValueError("a value is repeated")
        return parts

    return AfterValidator(check)


def _read_networks(value: object) -> object:
    """Checked, and kept as text: settings are shown as JSON."""
    parts = _split(value)
    for part in parts if isinstance(parts, tuple) else ():
        ip_network(part, strict=False)
    return parts


def _check_url(value: str) -> str:
    parts = urlsplit(value)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or parts.port == 0
        or re.search(r"\s", value)
    ):
        raise ValueError(
            "it should begin with http:// or https:// and a host, e.g. "
            "http://localhost:11434/v1"
        )
    return value


def _check_database_name(name: str) -> str:
    if not re.fullmatch(r'[^\s./\\"$]{1,63}', name):
        raise ValueError(
            'it should have 1 to 63 characters without spaces and without . / \\ " $'
        )
    return name


def _check_key(key: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
        raise ValueError(
            "it has spaces or letters beyond ASCII, which no HTTP header takes: "
            "copy it again"
        )
    return key


def read_duration(value: object) -> object:
    """Read 90s, 30m, 1h or 1d as seconds."""
    match = (
        re.fullmatch(r"(\d{1,6})\s*([smhd])", value.strip().lower())
        if isinstance(value, str)
        else None
    )
    if match is None or int(match[1]) == 0:
        raise ValueError("it should be a time like 30m, 1h or 1d")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2]]


def check_header_names(names: Texts) -> Texts:
    if len(names) > 3:
        raise ValueError(
            "it should be up to three names: of the person, of the groups, of a "
            "name to show"
        )
    return names


def check_extra_names(names: Texts) -> Texts:
    """The names themselves are checked where the extras are known."""
    if len(names) > 1 and {ALL_EXTRAS, NO_EXTRAS} & set(names):
        raise ValueError("all and none stand alone")
    return names or (ALL_EXTRAS,)


def _check_index_options(text: str) -> str:
    options = json.loads(text or "{}")
    if not isinstance(options, dict) or options.keys() - INDEX_OPTIONS:
        raise ValueError(
            "it should be a JSON object with some of "
            f"{', '.join(sorted(INDEX_OPTIONS))}"
        )
    return text


def read_collections(value: object) -> object:
    """Read ``name: description; name: description`` or a mapping as pairs; pydantic
    refuses anything else.
    """
    if isinstance(value, str):
        entries = (entry.partition(":") for entry in value.split(";") if entry.strip())
        return tuple(
            (name.strip(), " ".join(description.split()))
            for name, _, description in entries
        )
    if isinstance(value, Mapping):
        return tuple(value.items())
    return value


def check_collection_names(
    names: Iterable[str], reserved: AbstractSet[str] | tuple[()] = OWN_COLLECTIONS
) -> None:
    """Raises ValueError: naming the wrong name and what would be right. ``reserved``:
    our own collections. No two names may differ in capital letters only: SQLite does
    not distinguish them.
    """
    by_lower: dict[str, str] = {}
    for name in names:
        what = f"{name!r} cannot be the name of a collection of passages"
        lower = name.casefold()
        if lower in reserved:
            raise ValueError(
                f"{what}: the program keeps its own {lower} there. Taken: "
                f"{', '.join(sorted(reserved))}"
            )
        if (
            not name.strip()
            or name != name.strip()
            or not name.isprintable()
            or len(name) > MAX_COLLECTION_NAME_CHARACTERS
        ):
            raise ValueError(
                f"{what}: it must have 1 to {MAX_COLLECTION_NAME_CHARACTERS} "
                "characters, without spaces around them"
            )
        if (
            "$" in name
            or ".." in name
            or name.startswith(("system.", "."))
            or name.endswith(".")
        ):
            raise ValueError(
                f"{what}: MongoDB takes none with a $, with two dots or one at an "
                "end, or with system. in front"
            )
        if lower.startswith("sqlite_"):
            raise ValueError(f"{what}: SQLite takes none with sqlite_ in front")
        if (other := by_lower.setdefault(lower, name)) != name:
            raise ValueError(
                f"the collections {other!r} and {name!r} differ in capital letters only"
            )


CommaSeparated = Annotated[Texts, BeforeValidator(_split)]
Collections = Annotated[tuple[tuple[str, str], ...], BeforeValidator(read_collections)]
DatabaseName = Annotated[str, AfterValidator(_check_database_name)]
Duration = Annotated[int, BeforeValidator(read_duration)]
"""Seconds."""
ExtraNames = Annotated[CommaSeparated, AfterValidator(check_extra_names)]
FilterFields = Annotated[
    CommaSeparated,
    _each(
        r"(?!(_id|data|data_embedding(_b)?|document_id)$)[\w .-]{1,50}",
        (
            "a metadata field with letters, digits, space, '_', '.' and '-' only, and "
            "none of the program's own"
        ),
    ),
]
Fraction = Annotated[float, Field(ge=0, le=1)]
HeaderNames = Annotated[
    CommaSeparated,
    _each(r"[A-Za-z][A-Za-z0-9-]*", "the name of a header: Remote-User"),
    AfterValidator(check_header_names),
]
Host = Annotated[str, BeforeValidator(lambda host: host.strip("[]"))]
HostNames = Annotated[
    CommaSeparated,
    _each(
        r"(\*\.)?[^\s/:*@]+|[\da-fA-F:.]+",
        "a name without scheme, port and path, e.g. reports.example.org",
    ),
]
IndexOptions = Annotated[str, AfterValidator(_check_index_options)]
Key = Annotated[SecretStr, AfterValidator(_check_key)]
Origins = Annotated[
    CommaSeparated,
    _each(
        r"\*|[a-z][a-z\d+.-]*://[^A-Z\s/*?#@\\^$()[\]]+",
        "*, or an origin as browsers send it: https://example.org",
    ),
]
Prices = Annotated[tuple[ModelPrice, ...], BeforeValidator(read_prices)]
Proxies = Annotated[Texts, BeforeValidator(_read_networks)]
Schema = Annotated[
    CommaSeparated,
    _each(
        r"chatbot|langchain|llamaindex|haystack|[\w .-]+=[^$]+",
        (
            "chatbot, langchain, llamaindex, haystack, or field=path, e.g. "
            "country_name=metadata.country"
        ),
    ),
    AfterValidator(lambda parts: () if parts == ("chatbot",) else parts),
]
Url = Annotated[str, AfterValidator(_check_url)]


def read_tables(
    setting: str,
    path: Path,
    read: Callable[[dict[str, Any]], T],
    *,
    noun: str,
    keys: str,
    guide: str = "",
) -> dict[str, T]:
    """Return what ``read`` makes of the tables of a file, by name. Each describes a
    ``noun`` and has ``keys``. Raises SettingsError: the file cannot be read (``guide``
    follows then) or is not TOML, or a table is wrong.
    """
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{setting}: {path} cannot be read: {error.strerror}.{guide}"
        ) from error
    except ValueError as error:  # also of text that is not UTF-8
        raise SettingsError(f"{setting}: {path} is not TOML: {error}") from error
    tables: dict[str, T] = {}
    for name, table in stated.items():
        place = f"{setting}: the {noun} {name!r} of {path}"
        if not isinstance(table, dict):
            raise SettingsError(
                f"{place}: it should be a table, [{name}], with {keys}."
            )
        try:
            tables[name] = read(table)
        except InvalidRequestError as error:
            raise SettingsError(f"{place}: {error.message}") from None
    return tables

"""The sources of documents, and their metadata: a file's name (`kenya-2024.pdf`), its
folder's `manifest.json`, and the last word of a person (flags, form fields, edits:
`Overrides`, which also describes these fields in the API).
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from ..config.settings_types import CHUNKING
from ..domain import Document, Loaded
from ..domain.documents import (
    AUTHOR_SEPARATOR,
    NO_PUBLICATION,
    Proposal,
    Publication,
    Section,
    common_fields,
)
from ..domain.errors import InvalidRequestError, LoadError
from ..domain.scope import YEAR_IN_REVIEW, Value
from ..domain.tables import Texts
from ..domain.validation import NOT_BLANK, WHOLE_ADDRESS, parse
from ..language.countries import resolve_country
from ..language.country_names import country_key
from .chunkers import CHUNKERS
from .description import names_part, propose, says_nothing

MANIFEST = "manifest.json"
SAMPLES = "sample_data"
"""The folder in the identities of the sample reports."""
METADATA = ("country_name", "year", "type")
PUBLICATION = ("publisher", "authors", "publication_date", "source_url")
WEB = ("http://", "https://")
UPLOADS = "uploads/"
FIRST_YEAR, LAST_YEAR = 1000, 3000
MAX_LABEL_CHARACTERS = 60
MAX_LABELS = 30
NEEDED = ("title", "collection", *CHUNKING)
"""Fields that every report has: null means the value of the file or the settings."""
CountrySpelling = Callable[[str], str]
"""Returns a country as the data spells it; raises InvalidRequestError."""
_WHOLE = re.compile(r"-?\d{1,6}")


def _on_one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("not_printable", "must not hold control characters.")
    return text


def _number(value: Any) -> Any:
    """Return the number that a text of a form consists of; anything else unchanged."""
    return (
        int(value)
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip())
        else value
    )


def _year(value: Any) -> Any:
    year = _number(value)
    if not isinstance(year, int) or not FIRST_YEAR <= year <= LAST_YEAR:
        raise PydanticCustomError(
            "year", f"must be a year from {FIRST_YEAR} to {LAST_YEAR}, like 2023."
        )
    return year


def _labels(given: list[str]) -> list[str]:
    labels = list(dict.fromkeys(filter(None, map(_on_one_line, given))))
    if any(len(_printable(label)) > MAX_LABEL_CHARACTERS for label in labels):
        raise PydanticCustomError(
            "label",
            "must have at most {longest} characters each.",
            {"longest": MAX_LABEL_CHARACTERS},
        )
    return labels


def _authors(given: Any) -> Any:
    """Return the names of a text with semicolons; anything else unchanged."""
    if not isinstance(given, str):
        return given
    return [name for name in given.split(";") if name.strip()]


def _each_once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _day(value: Any) -> Any:
    """Check a year, a month or a day."""
    text = str(value).strip()
    match = _DAY.fullmatch(text)
    if match is None:
        raise _WRONG_DATE
    year, month, day = match.groups("01")
    try:
        date(int(year), int(month), int(day))
    except ValueError as error:
        raise _WRONG_DATE from error
    return text


_DAY = re.compile(r"([12]\d{3})(?:-(\d\d)(?:-(\d\d))?)?")
_WRONG_DATE = PydanticCustomError(
    "date", "must be a year, month or day, like 2024, 2024-03 or 2024-03-15."
)


def _none_if_blank(value: Any) -> Any:
    """Return None for "", which answers have where a report has no value."""
    if isinstance(value, str) and not value.strip():
        return None
    return value


_ON_ONE_LINE, _PRINTABLE, _NUMBER = (
    BeforeValidator(_on_one_line),
    AfterValidator(_printable),
    BeforeValidator(_number),
)
Text = Annotated[
    str, Field(pattern=NOT_BLANK, max_length=300), _ON_ONE_LINE, _PRINTABLE
]
Kind = Annotated[str, Field(pattern=NOT_BLANK, max_length=60), _ON_ONE_LINE, _PRINTABLE]
Description = Annotated[
    str, Field(pattern=NOT_BLANK, max_length=2000), _ON_ONE_LINE, _PRINTABLE
]
Year = Annotated[
    int, Field(strict=True, ge=FIRST_YEAR, le=LAST_YEAR), BeforeValidator(_year)
]
_Stated = (
    Annotated[
        list[Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]],
        Field(max_length=MAX_LABELS),
    ]
    | str
)
_split = BeforeValidator(
    lambda one: one.split(",") if isinstance(one, str) else one,
    json_schema_input_type=_Stated,
)
Labels = Annotated[
    list[str], Field(max_length=MAX_LABELS), AfterValidator(_labels), _split
]
"""A list, or a text with commas."""
Authors = Annotated[
    list[Text],
    Field(max_length=50),
    AfterValidator(_each_once),
    BeforeValidator(_authors, json_schema_input_type=list[Text] | str),
]
"""A list, or a text with semicolons: names have commas."""
Day = Annotated[
    str,
    BeforeValidator(
        _day, json_schema_input_type=Annotated[str, Field(pattern=_DAY.pattern)]
    ),
]
WebAddress = Annotated[str, Field(pattern=WHOLE_ADDRESS, max_length=2000), _ON_ONE_LINE]
_NONE_IF_BLANK = BeforeValidator(_none_if_blank)
Publisher = Annotated[Text | None, _NONE_IF_BLANK]
PublicationDay = Annotated[Day | None, _NONE_IF_BLANK]
PublishedAt = Annotated[WebAddress | None, _NONE_IF_BLANK]
Size = Annotated[int, Field(strict=True, ge=100, le=999_999), _NUMBER]
Overlap = Annotated[int, Field(strict=True, ge=0, le=999_999), _NUMBER]


class About(BaseModel):
    """Description of a report; null: it has none."""

    model_config = ConfigDict(extra="forbid")

    title: Text | None = None
    country_name: Text | None = None
    year: Year | None = None
    type: Kind | None = None
    labels: Labels | None = None
    description: Description | None = None
    publisher: Publisher = None
    authors: Authors | None = None
    publication_date: PublicationDay = None
    source_url: PublishedAt = None


class Cutting(BaseModel):
    """The way a report is split into passages; null: as the settings say."""

    model_config = ConfigDict(extra="forbid")

    chunk_strategy: str | None = Field(
        None, json_schema_extra={"enum": [*CHUNKERS.names(), None]}
    )
    chunk_size: Size | None = None
    chunk_overlap: Overlap | None = None


class Overrides(About, Cutting):
    """All fields that a person can state about a report."""

    collection: Text | None = None


def check_overrides(
    stated: About | Cutting, *, countries: Sequence[Value]
) -> dict[str, Any]:
    """Return the given fields as they are stored, a country as the data (``countries``)
    spells it. None = the report has none. Raises InvalidRequestError, UnknownNameError:
    an unknown country or chunk strategy.
    """
    given = stated.model_dump(include=set(Overrides.model_fields), exclude_unset=True)
    checked = {
        name: value
        for name, value in given.items()
        if value is not None or name not in NEEDED
    }
    if country := checked.get("country_name"):
        checked["country_name"] = check_country(country, countries)
    if strategy := checked.get("chunk_strategy"):
        CHUNKERS.check(strategy, field="chunk_strategy")
    return checked


def check_country(name: str, countries: Sequence[Value]) -> str:
    """Return a country as the data spells it, else by its usual name. Raises
    InvalidRequestError.
    """
    if name in countries:
        return name
    resolved, similar = resolve_country(name, [str(country) for country in countries])
    if resolved is None:
        hint = f" Did you mean {similar[0]}?" if similar else ""
        message = (
            f"{name!r} is not a country name or ISO code.{hint} For regions use labels."
        )
        raise InvalidRequestError.for_field("country_name", message, similar)
    return resolved


def check_collection(name: str | None, searched: Sequence[str]) -> None:
    """Raise InvalidRequestError for a collection that no question searches."""
    if name is not None and name not in searched:
        valid = list(dict.fromkeys(searched))
        message = f"{name!r} is not searched. Valid: {', '.join(valid)}."
        raise InvalidRequestError.for_field("collection", message, valid)


@dataclass(frozen=True, slots=True)
class Source:
    """A file to ingest. The same ``identity`` is the same document. ``listed``: a
    manifest describes it, so its name is not searched for a country or a year.
    """

    path: Path
    identity: str
    title: str | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    labels: Texts = ()
    description: str = ""
    listed: bool = False
    publication: Publication = NO_PUBLICATION
    root: Path | None = field(default=None, compare=False)
    """The folder that the file has to lie in; None = it may lie anywhere."""


def require_inside(source: Source) -> None:
    """Raise LoadError if a link or a manifest leads to a file outside of the folder
    that is read.
    """
    if source.root is None or source.path.resolve().is_relative_to(source.root):
        return
    raise LoadError(
        f"{source.path.name} is a link to a file outside of the folder, or the "
        "manifest names one. Set FOLLOW_LINKS=True to read it."
    )


def folder_sources(
    folder: Path,
    *,
    prefix: str | None = None,
    pattern: str = "**/*",
    follow_links: bool = False,
) -> list[Source]:
    """Return the files below a folder that match a glob pattern, or those that its
    manifest lists, described by it. ``prefix`` replaces the folder in identities, so
    that these do not depend on where the folder lies. ``follow_links``: files outside
    of the folder may be read.
    """
    entries = read_manifest(folder)
    files = {
        path.relative_to(folder).as_posix()
        for path in folder.glob(pattern)
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
    every = pattern == "**/*"
    names = (
        sorted(name for name in entries if every or name in files)
        if entries
        else sorted(files - {MANIFEST})
    )
    root = prefix if prefix is not None else folder.resolve().as_posix()
    sources = []
    for name in names:
        source = Source(
            folder / name,
            f"{root}/{name}",
            root=None if follow_links else folder.resolve(),
        )
        if (entry := entries.get(name)) is not None:
            metadata = entry.model_dump(include=set(METADATA), exclude_none=True)
            source = replace(
                source,
                title=entry.title,
                metadata=metadata,
                labels=entry.labels,
                description=entry.description,
                listed=True,
                publication=NO_PUBLICATION.described_by(
                    entry.model_dump(include=set(PUBLICATION))
                ),
            )
        sources.append(source)
    return sources


def make_document(
    source: Source,
    loaded: Loaded,
    *,
    overrides: Mapping[str, Any] | None = None,
    countries: Sequence[Value] = (),
    titles: Sequence[str] = (),
) -> Document:
    """Return a file as a document, described by (the later wins) its name, its content,
    the manifest, a person's ``overrides``. Raises LoadError: the file or the manifest
    states an unknown country or an invalid year.
    """
    stated = overrides or {}
    spelled = cache(lambda country: check_country(country, countries))
    of_parts = set(chain.from_iterable(map(attrgetter("metadata"), loaded.sections)))
    proposed = [] if source.listed else _proposals(source, loaded, titles)
    sure = {one.field: one.value for one in proposed if one.taken}
    of_file = _file_metadata(source, loaded, countries)
    metadata = {name: sure[name] for name in METADATA if name in sure}
    metadata = _with_stated(metadata | of_file, stated, spelled)
    if "year" in {**of_file, **stated} and not of_parts & set(METADATA):
        metadata = typed(metadata, stated, proposed)
    labels = stated.get("labels", [*loaded.labels, *source.labels]) or []
    description = source.description or loaded.description
    description = stated.get("description", description) or ""
    title = stated.get("title") or source.title or _read_title(source, loaded, sure)
    values = common_fields(Document, loaded) | {
        "title": title,
        "name": title,
        "metadata": metadata,
        "labels": tuple(dict.fromkeys(labels)),
        "description": description,
        "sections": _spelled_sections(loaded.sections, spelled),
        "proposed": _spelled_proposals(proposed, spelled),
        "publication": publication_of(source, sure, stated),
    }
    return Document(id=document_id(source.identity), source=source.identity, **values)


def _proposals(source: Source, loaded: Loaded, titles: Sequence[str]) -> list[Proposal]:
    """Return what a file says of itself as a whole."""
    every = propose(loaded, source.path, titles)
    return [proposal for proposal in every if _is_of_whole(proposal, loaded.sections)]


def _is_of_whole(proposal: Proposal, parts: Iterable[Section]) -> bool:
    """Return whether no part of a file has another value than the one proposed."""
    keys = {country_key(str(proposal.value))}
    for part in parts:
        own = part.metadata.get(proposal.field, proposal.value)
        keys.add(country_key(str(own)))
    return len(keys) == 1


def _file_metadata(
    source: Source, loaded: Loaded, countries: Sequence[Value]
) -> dict[str, Any]:
    """Return what the file and its manifest state. Raises LoadError."""
    stated = {**loaded.metadata, **source.metadata}
    checked = {
        name: stated[name] for name in ("country_name", "year") if name in stated
    }
    try:
        return stated | check_overrides(parse(About, checked), countries=countries)
    except InvalidRequestError as error:
        raise LoadError(f"{source.path.name}: {error.message}") from error


def _with_stated(
    metadata: Mapping[str, Any], stated: Mapping[str, Any], spelled: CountrySpelling
) -> dict[str, Value]:
    """Return the metadata with a person's values, of which null removes one."""
    described = dict(metadata)
    # Beside those that a person may state, the filter fields of a key's limit.
    for name in (*METADATA, *(stated.keys() - Overrides.model_fields)):
        if stated.get(name) is not None:
            described[name] = stated[name]
    if country := described.get("country_name"):
        described["country_name"] = spelled(str(country))
    for name, value in stated.items():
        if value is None:
            described.pop(name, None)
    return described


def _read_title(source: Source, loaded: Loaded, sure: Mapping[str, Value]) -> str:
    """Return the title that the content gives, or the file's name where that names no
    document. ``sure``: what the content says beyond doubt.
    """
    if sure.get("title"):
        return str(sure["title"])
    title = loaded.title
    if says_nothing(title) or names_part(title):
        return source.path.stem
    return title


def _spelled_sections(
    sections: Iterable[Section], spelled: CountrySpelling
) -> tuple[Section, ...]:
    """Return the sections with their countries as the data spells them."""
    result = []
    for section in sections:
        country = section.metadata.get("country_name")
        if not country:
            result.append(section)
            continue
        metadata = {**section.metadata, "country_name": spelled(str(country))}
        result.append(replace(section, metadata=metadata))
    return tuple(result)


def _spelled_proposals(
    proposed: Iterable[Proposal], spelled: CountrySpelling
) -> tuple[Proposal, ...]:
    """Return the proposals with their countries as the data spells them."""
    result = []
    for proposal in proposed:
        if proposal.field != "country_name":
            result.append(proposal)
            continue
        result.append(replace(proposal, value=spelled(str(proposal.value))))
    return tuple(result)


def publication_of(
    source: Source, read: Mapping[str, Value], stated: Mapping[str, Any]
) -> Publication:
    """Return the publication of a report: what its file says beyond doubt (``read``),
    its manifest, and a person; the later wins.
    """
    of_file = dict[str, Any](read)
    if "authors" in read:
        of_file["authors"] = str(read["authors"]).split(AUTHOR_SEPARATOR)
    if source.identity.startswith(WEB):
        of_file.setdefault("source_url", source.identity.partition("#")[0])
    of_manifest = {
        name: getattr(source.publication, name)
        for name in PUBLICATION
        if getattr(source.publication, name)
    }
    return NO_PUBLICATION.described_by(of_file | of_manifest | dict(stated))


def typed(
    metadata: Mapping[str, Value],
    stated: Mapping[str, Any],
    proposed: Iterable[Proposal],
) -> dict[str, Value]:
    """Mark a report of a year without country and type as a yearly review. A year that
    its text proposes is none.
    """
    year = metadata.get("year") not in {
        None,
        *(one.value for one in proposed if one.field == "year" and not one.taken),
    }
    review = (
        year and "country_name" not in metadata and "type" not in {*metadata, *stated}
    )
    return {**metadata, **({"type": YEAR_IN_REVIEW} if review else {})}


def document_id(identity: str) -> str:
    """Return the 20 hexadecimal digits of an identity."""
    return hashlib.sha256(identity.encode()).hexdigest()[:20]


class ManifestEntry(BaseModel):
    """One file of a manifest. Further keys (licence, checksum, ...) may stand beside
    these.
    """

    model_config = ConfigDict(extra="ignore")

    file: str = Field(min_length=1)
    title: str | None = None
    country_name: str | None = None
    year: int | None = Field(None, ge=FIRST_YEAR, le=LAST_YEAR)
    type: str | None = None
    labels: Texts = ()
    description: str = ""
    publisher: Publisher = None
    authors: Authors | None = None
    publication_date: PublicationDay = None
    source_url: PublishedAt = None


_ENTRIES = TypeAdapter(list[ManifestEntry])


def read_manifest(folder: Path) -> dict[str, ManifestEntry]:
    """Return the entries of ``manifest.json`` in a folder, by file; empty without a
    manifest. Raises LoadError: the manifest is not a list of valid entries; the message
    names the first wrong one.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        entries = _ENTRIES.validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors()[0]
        number, *fields = problem["loc"] or (None,)
        where = (
            ""
            if number is None
            else f"{' '.join([f'entry {int(number) + 1}', *map(str, fields)])}: "
        )
        raise LoadError(
            f"{path}: not a valid manifest: {where}{problem['msg']}."
        ) from error
    return {entry.file: entry for entry in entries}


def uploaded_name(identity: str) -> str:
    """Return the name that a file was uploaded with; "" for other sources."""
    # Before the name there may be its owner's digest and a number, for one of several
    # files of that name.
    match = re.fullmatch(rf"{UPLOADS}(?:[0-9a-f]*:\d+/)?(.+)", identity, re.DOTALL)
    return match[1] if match else ""


def shown_source(identity: str) -> str:
    """Return a report's source as people may see it: a file's name without its folder,
    a page's address.
    """
    path = PurePath(identity)
    return uploaded_name(identity) or (path.name if path.is_absolute() else identity)

"""E-books (.epub): the pages of their spine in reading order, each under its own title
(EPUB 3.3, 3.4 and 5.7).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from ...domain import Loaded, Section
from ...domain.documents import AUTHOR_SEPARATOR, lay_out
from ...domain.errors import LoadError
from . import ArchiveLoader
from .html import page_sections
from .office import BLANK_NOTE, check_archive, left_out, office_errors, parse_part
from .sections import one_line

_ENCRYPTION = "META-INF/encryption.xml"


class EpubLoader(ArchiveLoader):
    noun = "an e-book"
    suffixes = (".epub",)
    parts = "META-INF/container.xml"
    isolated = True

    def load(self, path: Path) -> Loaded:
        check_archive(path)
        with (
            office_errors(path, "an e-book (.epub)", KeyError, AttributeError),
            ZipFile(path) as archive,
        ):
            container = parse_part(archive.read(self.parts))
            address = container.find(".//{*}rootfile").attrib["full-path"]
            package = parse_part(archive.read(address))
            pages = {
                name: archive.read(name)
                for name in _reading_order(package, dirname(address))
            }
            sealed = ""
            if _ENCRYPTION in archive.namelist():
                sealed = archive.read(_ENCRYPTION).decode()
        if any(f'"{name}"' in sealed for name in pages):
            raise LoadError(
                f"{path.name} is protected against copying. Add an edition without "
                "protection."
            )
        names = (
            f".//{{*}}metadata/{{*}}{name}" for name in ("title", "description", "date")
        )
        title, about, created = (
            one_line(package.findtext(name) or "") for name in names
        )
        sections, blank, page_notes = _sections_of(pages, title)
        if not sections:
            raise LoadError(f"{path.name} has no text that can be read.")
        notes = (*left_out((BLANK_NOTE, blank)), *page_notes)
        properties = {"created": created, "published": created}
        for name, tag in (("authors", "creator"), ("publisher", "publisher")):
            values = package.iterfind(f".//{{*}}metadata/{{*}}{tag}")
            texts = [one_line(value.text or "") for value in values]
            properties[name] = AUTHOR_SEPARATOR.join(filter(None, texts))
        return Loaded(
            title or path.stem,
            lay_out(sections),
            description=about,
            properties=properties,
            notes=notes,
        )


def _sections_of(
    pages: Mapping[str, bytes], title: str
) -> tuple[list[Section], int, Iterable[str]]:
    """Return the sections of the pages, how many pages have no text, and their notes,
    each once; ``title``: the book's, which is no heading.
    """
    sections = list[Section]()
    notes: dict[str, None] = {}
    blank = 0
    for name, content in pages.items():
        try:
            page = page_sections(content, name=name)
        except LoadError:  # a cover, or another page of pictures
            blank += 1
            continue
        notes |= dict.fromkeys(page.notes)
        above = () if page.title in {title, Path(name).stem} else (page.title,)
        for section in page.sections:
            own_path = section.path[section.path[:1] == above :]
            sections.append(Section((*above, *own_path), section.text))
    return sections, blank, notes


def _reading_order(package: Any, folder: str) -> Iterator[str]:
    """Yield the names of the pages in the order of the book's spine; ``folder`` is the
    package's. Raises KeyError: a page is not in its list.
    """
    addresses = {
        item.attrib["id"]: item.attrib["href"]
        for item in package.iterfind(".//{*}manifest/{*}item")
    }
    for item in package.iterfind(".//{*}spine/{*}itemref"):
        address = addresses[item.attrib["idref"]]
        yield normpath(join(folder, unquote(address)))

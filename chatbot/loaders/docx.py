"""Word files (.docx): headings to section paths; headers, footers, deleted and hidden text are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docx
from docx.document import Document
from docx.exceptions import PythonDocxError
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

from ..errors import LoadError
from ..schema import Loaded, lay_out
from .archives import check_archive, readable
from .office_properties import read_properties
from .office_word import WordReader, paragraph_text, read_styles

_WHAT = "a Word document (.docx)"


class DocxLoader:
    """Implements `protocols.Loader`. Word breaks pages anew on each machine: a section has no page."""

    suffixes = (".docx",)

    def load(self, path: Path) -> Loaded:
        check_archive(path)
        with readable(path, _WHAT, PythonDocxError, OpcError):
            properties = read_properties(path)
            with path.open("rb") as file:
                document = docx.Document(file)
            reader = WordReader(read_styles(document.styles.element), dict(_notes(document)))
            reader.read(document.element.body)
        sections = lay_out(reader.outline.sections(keep_title=bool(reader.title)))
        if not sections:
            raise LoadError(f"{path.name} has no text. Pictures of text are not read.")
        title = reader.title or reader.outline.title() or properties.title or path.stem
        return Loaded(title, sections, labels=properties.labels, description=properties.description)


def _notes(document: Document) -> Iterator[tuple[tuple[str, str], str]]:
    """Footnotes and endnotes as ((kind, id), text)."""
    kinds = {RELATIONSHIP_TYPE.FOOTNOTES: "footnote", RELATIONSHIP_TYPE.ENDNOTES: "endnote"}
    for relation in document.part.rels.values():
        if (kind := kinds.get(relation.reltype)) is None or relation.is_external:
            continue
        for note in parse_xml(relation.target_part.blob).iterchildren(qn(f"w:{kind}")):
            texts = (paragraph_text(paragraph) for paragraph in note.iterchildren(qn("w:p")))
            yield (kind, note.get(qn("w:id"), "")), " ".join(" ".join(texts).split())


def build() -> DocxLoader:
    return DocxLoader()

"""The metadata stream of a PDF (XMP, ISO 16684-1): who wrote and published it, and
when.
"""

import zlib
from typing import Any

from lxml import etree
from pdfminer.pdftypes import PDFStream, resolve1
from pdfminer.psexceptions import PSException

from ....domain.documents import AUTHOR_SEPARATOR
from .. import FAULTS
from ..office import parse_part
from ..sections import one_line

__all__ = ["xmp_properties"]

_TAGS = {
    "authors": ("{http://purl.org/dc/elements/1.1/}creator",),
    "publisher": ("{http://purl.org/dc/elements/1.1/}publisher",),
    "published": (
        "{http://prismstandard.org/namespaces/basic/2.0/}publicationDate",
        "{http://prismstandard.org/namespaces/basic/2.0/}coverDate",
        "{http://purl.org/dc/elements/1.1/}date",
    ),
    "url": ("{http://prismstandard.org/namespaces/basic/2.0/}url",),
}
"""Elements by property, the most exact first."""
_DESCRIPTION = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description"


def xmp_properties(document: Any) -> dict[str, str]:
    """Return ``authors``, ``publisher``, ``published`` and ``url``, those that the
    metadata of a `PDFDocument` states. Broken metadata states nothing.
    """
    try:
        stream = resolve1(document.catalog.get("Metadata"))
        if not isinstance(stream, PDFStream):
            return {}
        root = parse_part(stream.get_data().strip(b"\0 \r\n\t"))
    except (etree.XMLSyntaxError, PSException, zlib.error, *FAULTS):
        return {}  # it decides nothing about the text
    properties = {}
    for name, tags in _TAGS.items():
        for tag in tags:
            texts = _texts(root, tag)
            if texts:
                properties[name] = AUTHOR_SEPARATOR.join(texts)
                break
    return properties


def _texts(root: Any, tag: str) -> list[str]:
    """Return the texts of an element, each item of its list, or its value as an
    attribute.
    """
    texts = []
    for element in root.iter(tag):
        texts += [one_line(text) for text in element.itertext()]
    for element in root.iter(_DESCRIPTION):
        texts.append(one_line(element.get(tag) or ""))
    return [text for text in dict.fromkeys(texts) if text]

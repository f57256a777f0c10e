"""What a web page says about its publication: in its meta elements, in its data for
search engines (JSON-LD, schema.org), in the link to its own address.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lxml.html import HtmlElement

from ...domain.documents import AUTHOR_SEPARATOR
from ...domain.errors import read_table
from .sections import one_line

__all__ = ["publication_properties"]

_META = read_table(__package__, "keys")["meta"]
"""Names of meta elements, in lower case, the most exact first."""
_SCHEMA = {"authors": "author", "publisher": "publisher", "published": "datePublished"}


def publication_properties(page: HtmlElement) -> dict[str, str]:
    """Return ``authors``, ``publisher``, ``published`` and ``url``, those that the page
    states.
    """
    stated: dict[str, list[str]] = {}
    for element in page.iter("meta"):
        name = element.get("name") or element.get("property") or ""
        value = one_line(element.get("content") or "")
        if value:
            stated.setdefault(name.lower(), []).append(value)
    described = next(_described(page), {})
    properties: dict[str, str] = {}
    for field, names in _META.items():
        values = _names(described.get(_SCHEMA.get(field, "")))
        for name in names:
            values = values or stated.get(name, [])
        if values:
            properties[field] = AUTHOR_SEPARATOR.join(dict.fromkeys(values))
    for link in page.iter("link"):
        if "canonical" in (link.get("rel") or "").split():
            properties["url"] = (link.get("href") or "").strip()
    return properties


def _described(page: HtmlElement) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the page's JSON-LD that have a date of publication or an
    author.
    """
    for script in page.iter("script"):
        if script.get("type") != "application/ld+json":
            continue
        try:
            data = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue  # browsers ignore it, too
        objects = data if isinstance(data, list) else [data]
        for each in objects:
            if not isinstance(each, dict):
                continue
            graph = each.get("@graph")
            for described in (each, *(graph if isinstance(graph, list) else ())):
                if not isinstance(described, dict):
                    continue
                if "datePublished" in described or "author" in described:
                    yield described


def _names(value: Any) -> list[str]:
    """Return the names in a value of schema.org: a text, an object with a name, or a
    list of them.
    """
    names = []
    for each in value if isinstance(value, list) else [value]:
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, str) and name.strip():
            names.append(one_line(name))
    return names

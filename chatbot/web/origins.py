"""Requests that change something are refused when the page of another web site sends them.

A browser lets any page send a form, files included, to any address it reaches, this server on somebody's own machine
too, and asks nobody first: CORS only keeps the page from reading the answer. Nothing here is behind a password that
such a page would lack, so it could add documents to the knowledge base or spend the chat model's tokens. Browsers say
where a request comes from, and a page cannot change that; programs send neither header and pass.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from flask import request

from ..errors import ForbiddenOriginError

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OWN = frozenset({"same-origin", "none"})


def refuse_foreign_origins(allowed: Collection[str]) -> None:
    """Check the current request. ``allowed``: other origins whose pages may change things (CORS_ORIGINS).

    Raises:
        ForbiddenOriginError: it is another site's.
    """
    if request.method not in CHANGING:
        return
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin in allowed or "*" in allowed:
        return
    # The browser's own word comes first: behind a proxy the Host header may be another than the page's.
    own = site in OWN if site is not None else origin is None or _host(origin) == request.host.lower()
    if not own:
        raise ForbiddenOriginError(
            f"Pages of {origin or 'another site'} may not change anything here. "
            "If they should, add their origin to CORS_ORIGINS."
        )


def _host(origin: str) -> str:
    """Host and port; "" for what is no origin, "null" among them."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""

"""The client's address, scheme and path behind proxies, which are believed only if TRUSTED_PROXIES names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
PREFIX = re.compile(r"(/[\w.~-]+)+")
"""A path below which a proxy serves this application, and which it takes away before it asks here."""
Networks = Sequence[IPv4Network | IPv6Network]


class BehindProxies:
    """A WSGI application that is told the client's address, scheme and path, not those of the last proxy."""

    def __init__(self, app: Application, trusted: Sequence[str]) -> None:
        self._app = app
        self._trusted: Networks = [ip_network(one, strict=False) for one in trusted]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """See PEP 3333."""
        if is_in(environ.get("REMOTE_ADDR", ""), self._trusted):
            # Each proxy adds whom it was asked by: from the right, the first that is no proxy of ours is the client.
            said = [bare(part) for part in environ.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
            clients = [part for part in reversed(said) if not is_in(part, self._trusted)]
            environ["REMOTE_ADDR"] = (clients or said[:1] or [environ["REMOTE_ADDR"]])[0]
            if environ.get("HTTP_X_FORWARDED_PROTO", "").strip().lower() in {"http", "https"}:
                environ["wsgi.url_scheme"] = environ["HTTP_X_FORWARDED_PROTO"].strip().lower()
            if PREFIX.fullmatch(environ.get("HTTP_X_FORWARDED_PREFIX", "")):
                environ["SCRIPT_NAME"] = environ["HTTP_X_FORWARDED_PREFIX"]
        return self._app(environ, start_response)


def bare(address: str) -> str:
    """An address without the port that some proxies add, and without the brackets of IPv6."""
    host, _, port = address.strip().rpartition(":")
    with_port = port.isdigit() and (":" not in host or host.endswith("]"))
    return (host if with_port else address.strip()).strip("[]")


def is_in(address: str, networks: Networks) -> bool:
    """Whether an address is in one of the networks; False for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)

"""Permitted URLs, and the permitted addresses that their host names resolve to.

A URL comes from outside, and so does every redirect. Both could point into the network this server runs in (the
database, a cloud's metadata service, the router), so the resolved addresses are checked.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, urlsplit

import idna

MAX_URL = 2_000
"""Characters."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
WEB_PORTS = frozenset({80, 443, 8080, 8443})
"""On other ports mail servers and databases listen, which may take a request as commands, and an answer about any port
would make this server a port scanner."""
_UNPRINTABLE = re.compile(r"[\s\x00-\x20\x7f-\xa0]")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_IN_REQUEST = "!$%&'()*+,/:;=?@[]~"
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*:[/\\]+)?[^/\\?#]*@", re.IGNORECASE)
_MAX_SHOWN_CHARACTERS = 300

_IPV6_PUBLIC = ip_network("2000::/3")
_IPV6_NAT64 = ip_network("64:ff9b::/96")
# Not public, though `ipaddress` calls some of them global (which ones depends on Python's patch version).
_NEVER = tuple(
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments; a metadata service at one provider
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # the platform's own service inside Azure
        "2001::/23",  # Teredo and other protocol assignments
        "2002::/16",  # 6to4: an IPv4 address in disguise, and no web site's
        "3fff::/20",  # documentation
    )
)

Resolve = Callable[[str, int], list[str]]
"""Host name and port to every address; raises OSError or UnicodeError."""


class FetchProblem(Exception):  # noqa: N818  # `fetch` makes a LoadError of it
    """Why a page was not fetched, and what to do. `fetch` adds the URL."""


def resolve_host(host: str, port: int) -> list[str]:
    """Ask the operating system, which understands every way to write an address. Without repetitions."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def is_public(address: str) -> bool:
    """Return whether an IP address can only be a machine on the public Internet."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _IPV6_NAT64:  # how IPv4 looks from a network that has only IPv6
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _IPV6_PUBLIC:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NEVER)


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a fetch. ``ports`` None = any."""

    resolve: Resolve = resolve_host
    permitted: Callable[[str], bool] = is_public
    ports: frozenset[int] | None = WEB_PORTS

    def addresses(self, target: Target) -> list[str]:
        """Look the host up, once. Every address must be permitted, not only the one that is used.

        Raises:
            FetchProblem: one is not permitted, or there is none. OSError, UnicodeError: the lookup failed.
        """
        addresses = self.resolve(target.host, target.port)
        if not addresses:
            raise FetchProblem(f"the host {target.host} has no address. Check the spelling.")
        # An IPv6 address may carry the name of a network card.
        if not all(self.permitted(address.partition("%")[0]) for address in addresses):
            raise FetchProblem(
                f"the host {target.host} is not on the public Internet. Only public pages are fetched: "
                "download the file and add that."
            )
        return addresses


@dataclass(frozen=True, slots=True)
class Target:
    """One request: ``host`` in ASCII without brackets, ``path`` with the query, percent-encoded."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them; the scheme's default port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address as a browser would show it, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str, ports: frozenset[int] | None) -> Target:
    """Parse an address. Raises FetchProblem: it is invalid or not permitted."""
    if len(url) > MAX_URL:
        raise FetchProblem(f"the address is longer than {MAX_URL:,} characters. Use a shorter one.")
    if _UNPRINTABLE.search(url):
        raise FetchProblem("the address holds blanks or control characters. Write a blank as %20.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise FetchProblem("this is not a valid web address. Copy it from the browser.") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise FetchProblem("only addresses that begin with http:// or https:// are fetched.")
    if "@" in parts.netloc:
        raise FetchProblem("the address holds a user name or password. Remove it, or download the file and add that.")
    host = _ascii_host(parts.hostname or "")
    port = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if ports is not None and port not in ports:
        valid = ", ".join(map(str, sorted(ports)))
        raise FetchProblem(f"port {port} is not fetched from, only {valid}. Download the file and add that.")
    query = f"?{quote(parts.query, safe=_IN_REQUEST)}" if parts.query else ""
    return Target(parts.scheme, host, port, quote(parts.path or "/", safe=_IN_REQUEST) + query)


def _ascii_host(host: str) -> str:
    try:
        if ":" in host and "%" not in host:
            return ip_address(host).compressed
        name = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except ValueError as error:  # idna's errors are ValueErrors too
        raise FetchProblem("its host is not a valid name. Check the address.") from error
    name = name.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise FetchProblem("it has no valid host name. Check the address.")
    return name


def url_for_message(url: str) -> str:
    """Return a URL for messages: one line of bounded length, without user name, password and fragment."""
    text = _UNPRINTABLE.sub(" ", _USERINFO.sub(r"\1", url.partition("#")[0]))
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}..."

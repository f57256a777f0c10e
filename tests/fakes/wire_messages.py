"""MongoDB's wire messages, as far as a test needs them: OP_MSG, and OP_QUERY/OP_REPLY
for a driver's first hello.
"""

import itertools
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bson

OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
HEADER = struct.Struct("<iiii")
BODY, SEQUENCE = 0, 1
GREETINGS = {"hello", "ismaster", "isMaster"}
_ids = itertools.count(1)


@dataclass(frozen=True)
class Message:
    """One message as it came, ``document`` its body with the document sequences put
    back in.
    """

    raw: bytes
    request_id: int
    opcode: int
    document: dict[str, Any]

    @property
    def name(self) -> str:
        """The command, `hello` for all its spellings; of an aggregation the first stage
        (`$vectorSearch`).
        """
        first = next(iter(self.document), "")
        if first in GREETINGS:
            return "hello"
        if first == "aggregate" and self.document["pipeline"]:
            return next(iter(self.document["pipeline"][0]))
        return first


def receive(connection: socket.socket) -> Message | None:
    """The next message, or None when the other side has closed."""
    header = _exactly(connection, HEADER.size)
    if header is None:
        return None
    length, request_id, _, opcode = HEADER.unpack(header)
    rest = _exactly(connection, length - HEADER.size)
    return (
        None
        if rest is None
        else Message(header + rest, request_id, opcode, _document(opcode, rest))
    )


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    read = b""
    while len(read) < count:
        piece = connection.recv(count - len(read))
        if not piece:
            return None
        read += piece
    return read


def _document(opcode: int, rest: bytes) -> dict[str, Any]:
    if opcode == OP_MSG:
        return _sections(rest[4:])
    if opcode == OP_QUERY:
        return _bson(rest, rest.index(b"\0", 4) + 9)
    return _bson(rest, 20)  # OP_REPLY


def _sections(rest: bytes) -> dict[str, Any]:
    document: dict[str, Any] = {}
    place = 0
    while place < len(rest):
        kind, place = rest[place], place + 1
        (size,) = struct.unpack_from("<i", rest, place)
        if kind == BODY:
            document.update(_bson(rest, place))
        else:
            end = rest.index(b"\0", place + 4)
            document[rest[place + 4 : end].decode()] = bson.decode_all(
                rest[end + 1 : place + size]
            )
        place += size
    return document


def _bson(data: bytes, start: int) -> dict[str, Any]:
    (size,) = struct.unpack_from("<i", data, start)
    return dict(bson.decode(data[start : start + size]))


def reply(to: Message, document: Mapping[str, Any]) -> bytes:
    """The answer to a message, in the form that it asks for."""
    payload = bson.encode(dict(document))
    if to.opcode == OP_QUERY:
        body = struct.pack("<iqii", 8, 0, 0, 1) + payload
        opcode = OP_REPLY
    else:
        body = struct.pack("<iB", 0, BODY) + payload
        opcode = OP_MSG
    return (
        HEADER.pack(HEADER.size + len(body), next(_ids), to.request_id, opcode) + body
    )

"""A proxy on loopback between PyMongo and a server that plays the faults no server
plays on demand.

    with NxThread(folder) as server, WireProxy(server.port) as proxy:
        proxy.next("insert", NOT_PRIMARY)            # the next insert
        proxy.always("$vectorSearch", OVERLOADED)    # every aggregation that starts
        with this stage proxy.always(EVERYTHING, Hang())             # all but the
        driver's own hello ... proxy.heal()

It presents the server as the primary of a replica set, so that PyMongo retries writes
as it does on Atlas, and it accepts any password. Without a server behind it, it answers
hello, and everything else with an empty result.

Where its beliefs come from: the fields of a primary's hello
(mongodb.com/docs/manual/reference/command/hello); which refusals and broken connections
are retried, and by which labels (github.com/mongodb/specifications, source/
retryable-writes and source/retryable-reads); the conversation of saslStart (source/
auth, PLAIN, RFC 4616); the limits in `CANNED_HELLO` (the page of hello).
"""

import contextlib
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from tests.fakes.wire_faults import Action, Answer, Delay, Drop, Hang
from tests.fakes.wire_messages import Message, receive, reply

EVERYTHING = "*"
BOUND = 120.0
"""Seconds after which anything that waits here gives up."""


class WireProxy:
    """Use as a context manager. ``commands`` holds what the driver sent, in order,
    without its hellos.
    """

    def __init__(self, upstream: int | None = None) -> None:
        self._upstream = upstream
        self._next: dict[str, deque[Action]] = defaultdict(deque)
        self._always: dict[str, Action] = {}
        self._lock = threading.Lock()
        self._healed = threading.Event()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.commands: list[dict[str, Any]] = []
        self.port = 0

    @property
    def uri(self) -> str:
        """With a user and a password that must turn up nowhere."""
        return f"mongodb://alice:s3cret-pw@127.0.0.1:{self.port}/?authMechanism=PLAIN"

    def next(self, name: str, *actions: Action) -> None:
        """The next commands of this name (see `Message.name`) get these, in order."""
        with self._lock:
            self._next[name].extend(actions)

    def always(self, name: str, action: Action) -> None:
        """Every command of this name that has nothing else in store."""
        with self._lock:
            self._always[name] = action

    def heal(self, answers: Mapping[str, Action] | None = None) -> None:
        """No faults from here on, these answers at once: what asks in the background
        sees nothing in between. What hangs is let go.
        """
        with self._lock:
            self._next.clear()
            self._always.clear()
            self._always.update(answers or {})
            self._healed.set()
            self._healed = threading.Event()

    def sent(self, name: str) -> list[dict[str, Any]]:
        """The commands with this name that have arrived, `$` stages by their
        aggregation.
        """
        with self._lock:
            return [
                found
                for found in self.commands
                if Message(b"", 0, 0, found).name == name
            ]

    def up(self) -> None:
        """Listen, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self._listener, self.port = listener, listener.getsockname()[1]
        threading.Thread(
            target=self._accept, args=(listener,), name="wire-proxy", daemon=True
        ).start()

    def down(self) -> None:
        """Stop listening and break every connection."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # its own thread closes it

    def __enter__(self) -> "WireProxy":
        self.up()
        return self

    def __exit__(self, *error: object) -> None:
        self.heal()
        self.down()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve,
                args=(client,),
                name="wire-proxy-client",
                daemon=True,
            ).start()

    def _serve(self, client: socket.socket) -> None:
        server = Upstream(self._upstream)
        with self._lock:
            self._open.add(client)
        try:
            client.settimeout(BOUND * 10)  # an idle connection of the pool
            while (message := receive(client)) is not None and self._handle(
                client, server, message
            ):
                pass
        except OSError:
            pass  # one of the two has gone
        finally:
            with self._lock:
                self._open.discard(client)
            server.close()
            client.close()

    def _handle(
        self, client: socket.socket, server: "Upstream", message: Message
    ) -> bool:
        """Whether the connection goes on."""
        action = self._action(message)
        if isinstance(action, Hang):
            self._healed.wait(BOUND)
            return False
        if isinstance(action, Drop):
            if action.after:
                server.ask(message)
            return False
        if isinstance(action, Delay):
            self._healed.wait(min(action.seconds, BOUND))
        if isinstance(action, Answer):
            answer: Mapping[str, Any] = action.document
        else:
            answer = self._answer(server, message)
        client.sendall(reply(message, answer))
        return True

    def _action(self, message: Message) -> Action | None:
        with self._lock:
            if message.name != "hello":
                self.commands.append(message.document)
            if waiting := self._next.get(message.name):
                return waiting.popleft()
            other = None if message.name in HANDSHAKE else self._always.get(EVERYTHING)
            return self._always.get(message.name, other)

    def _answer(self, server: "Upstream", message: Message) -> Mapping[str, Any]:
        if message.name == "hello":
            address = f"127.0.0.1:{self.port}"
            replica_set = {
                "setName": "rs0",
                "setVersion": 1,
                "hosts": [address],
                "me": address,
                "primary": address,
            }
            return {
                **server.ask(message),
                **replica_set,
                "ismaster": True,
                "isWritablePrimary": True,
            }
        if message.name == "saslStart":
            return {"ok": 1, "conversationId": 1, "done": True, "payload": b""}
        return server.ask(message)


HANDSHAKE = {"hello", "saslStart", "endSessions"}


class Upstream:
    """The connection to the server behind, opened when it is needed; or canned answers
    where there is none.
    """

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._connection: socket.socket | None = None

    def ask(self, message: Message) -> dict[str, Any]:
        if self._port is None:
            return dict(CANNED_HELLO if message.name == "hello" else EMPTY)
        if self._connection is None:
            self._connection = socket.create_connection(
                ("127.0.0.1", self._port), timeout=BOUND
            )
        self._connection.sendall(message.raw)
        answer = receive(self._connection)
        if answer is None:
            raise ConnectionError("the server has gone")
        return answer.document

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


CANNED_HELLO = {
    "ok": 1,
    "maxBsonObjectSize": 16 * 1024 * 1024,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "logicalSessionTimeoutMinutes": 30,
    "minWireVersion": 17,
    "maxWireVersion": 25,
}
EMPTY = {
    "ok": 1,
    "n": 0,
    "nModified": 0,
    "cursor": {"id": 0, "ns": "report_chat.any", "firstBatch": []},
}

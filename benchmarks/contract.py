"""The running server against its own description (`/openapi.json`), by schemathesis
with all its checks.

    python -m benchmarks contract [--examples 20] [--seed 1] [--who visitor reader unknown]

`python app.py` over the sample reports, asked by a visitor without a key where
everything is open, by a key that may read, and by one that is not known. Answers are
held against closed schemas: a field that is not described is a failure, too.
"""  # noqa: E501

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .recorded import server

ROOT = Path(__file__).parent.parent
SETTINGS = {
    "EMBEDDING_PROVIDER": "hashing",
    "CHAT_MODEL": "extractive",
    "REQUESTS_PER_MINUTE": "0",
}
CALLERS = {"visitor": "open", "reader": "keys", "unknown": "keys"}
"""Who asks, and the ACCESS of the server then."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks contract", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=20,
        help="of each operation, besides those of its limits",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--who", nargs="+", choices=CALLERS, default=list(CALLERS))
    chosen, rest = parser.parse_known_args()
    options = [
        "--max-examples",
        str(chosen.examples),
        "--seed",
        str(chosen.seed),
        *rest,
    ]
    failed = [who for who in chosen.who if against_server(who, options)]
    sys.exit(f"Failures: {', '.join(failed)}" if failed else 0)


def against_server(who: str, options: Sequence[str]) -> int:
    """What schemathesis returns: 0 = no failure."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**SETTINGS, "ACCESS": CALLERS[who], "DATA_DIR": f"{folder}/data"}
        key = made_key(settings) if who == "reader" else "rc_unknown"
        with server(ROOT, settings) as url:
            headers = (
                {"Cookie": cookie(url)}
                if who == "visitor"
                else {"Authorization": f"Bearer {key}"}
            )
            with urllib.request.urlopen(f"{url}/openapi.json", timeout=30) as response:
                description = closed(json.load(response))
            if who != "unknown":
                description = with_examples(description, url, headers)
            print(f"\n{who}, ACCESS={CALLERS[who]}", flush=True)
            return check(description, url, headers, Path(folder), options)


def made_key(settings: Mapping[str, str]) -> str:
    command = [
        sys.executable,
        "-m",
        "chatbot",
        "keys",
        "create",
        "reader",
        "--role",
        "read",
    ]
    environment = {**os.environ, "PYTHON_DOTENV_DISABLED": "1", **settings}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()


def cookie(url: str) -> str:
    """Of somebody who has opened the page."""
    with urllib.request.urlopen(url, timeout=30) as response:
        return str(response.headers["Set-Cookie"]).partition(";")[0]


def closed(description: dict[str, Any]) -> dict[str, Any]:
    """What is described of an object is all that it has. Nobody but us should hold the
    answers to that.
    """
    for schema in description["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return description


def with_examples(
    description: dict[str, Any], url: str, headers: Mapping[str, str]
) -> dict[str, Any]:
    """For each operation on a thing one that is there, and that no other deletes."""

    def ask(method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **headers}
        with urllib.request.urlopen(
            urllib.request.Request(url + path, data, sent, method=method)
        ) as response:
            return json.load(response)

    documents = [
        one["document_id"] for one in ask("GET", "/api/documents")["documents"]
    ]
    made: dict[str, Callable[[], str]] = {
        "document_id": documents.pop,
        "chunk_id": lambda: ask("GET", f"/api/documents/{documents[0]}/chunks")[
            "chunks"
        ][0]["chunk_id"],
        "ingestion_id": lambda: ask(
            "POST", "/api/documents", {"url": "http://nowhere.invalid/"}
        )["ingestion_id"],
    }
    made |= {
        "name": lambda: "report-chat",
        "session_id": lambda: "none",
        "key_id": lambda: ask("POST", "/api/keys", {"name": "Spare"})["key"]["id"],
    }
    question = {"query": "What is the population growth rate?"}
    for name in ("conversation_id", "message_id"):
        made[name] = lambda name=name: ask("POST", "/query", question)[name]
    made["token"] = lambda: ask(
        "POST", f"/api/conversations/{made['conversation_id']()}/share"
    )["share"]
    for operations in description["paths"].values():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] != "path":
                    continue
                name = parameter["name"]
                if method == "get" and name == "document_id":
                    parameter["example"] = documents[0]  # reading shares a report
                    continue
                with contextlib.suppress(
                    urllib.error.HTTPError
                ):  # what this caller may not make
                    parameter["example"] = made[name]()
    return description


def check(
    description: Mapping[str, Any],
    url: str,
    headers: Mapping[str, str],
    folder: Path,
    options: Sequence[str],
) -> int:
    """Run schemathesis; its exit code."""
    file = folder / "openapi.json"
    file.write_text(json.dumps(description), encoding="utf-8")
    who = [
        part
        for name, value in headers.items()
        for part in ("--header", f"{name}: {value}")
    ]
    command = [
        "schemathesis",
        "--config-file",
        str(Path(__file__).with_name("contract.toml")),
        "run",
        str(file),
        "--url",
        url,
        "--no-color",
        *who,
        *options,
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "benchmarks.contract_checks",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.call(
        command, cwd=folder, env=environment
    )  # it leaves what it found last time where it runs


if __name__ == "__main__":
    main()

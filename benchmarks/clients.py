"""Clients generated from the OpenAPI description ask a question: openapi-python-client,
and openapi-typescript with its types checked. Both are generated into a temporary
folder with the newest release, and nothing is kept.

    python -m benchmarks clients

Needs a network (PyPI, npm) and Node. Exits with 1 where a client cannot be generated or
checked, or gets no answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path
from typing import Any

from .recorded import server

ROOT = Path(__file__).parent.parent
QUESTION = "What is the population growth rate of Kenya?"
PYTHON = f"""
import sys
from report_chat_client import Client
from report_chat_client.api.asking import answer_question
from report_chat_client.api.catalog import list_reports
from report_chat_client.models import ChatRequest

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True, timeout=60)
assert list_reports.sync(client=client).total > 1
answer = answer_question.sync(client=client, body=ChatRequest(query={QUESTION!r}))
print(answer.response, [citation.title for citation in answer.citations])
"""
TYPESCRIPT = f"""
import createClient from "openapi-fetch";
import type {{ paths }} from "./schema.js";

const client = createClient<paths>({{ baseUrl: process.argv[2] }});
const {{ data: reports }} = await client.GET("/api/reports");
if (!reports || reports.total < 2) throw new Error("There are no reports.");
const {{ data: answer, error }} = await client.POST("/query", {{ body: {{ query: "{QUESTION}" }} }});
if (!answer) throw new Error(JSON.stringify(error));
console.log(answer.response, answer.citations.map((citation) => citation.title));
"""  # noqa: E501
PACKAGES = ("openapi-typescript", "openapi-fetch", "typescript@5", "@types/node")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as made,
        server(ROOT, {"EMBEDDING_PROVIDER": "hashing", "LOG_LEVEL": "WARNING"}) as url,
    ):
        with urllib.request.urlopen(f"{url}/openapi.json", timeout=60) as response:
            described = json.load(response)
        python_client(Path(made, "python"), described, url)
        typescript_client(Path(made, "typescript"), described, url)


def python_client(folder: Path, described: dict[str, Any], url: str) -> None:
    venv.create(folder, with_pip=True)
    (folder / "openapi.json").write_text(json.dumps(described))
    run(folder, "bin/pip", "install", "--quiet", "openapi-python-client", "ruff")
    run(
        folder,
        "bin/openapi-python-client",
        "generate",
        "--path",
        "openapi.json",
        "--output-path",
        "client",
    )
    (folder / "client/ask.py").write_text(PYTHON)
    run(folder, "bin/python", "client/ask.py", url)


def typescript_client(folder: Path, described: dict[str, Any], url: str) -> None:
    folder.mkdir()
    (folder / "openapi.json").write_text(json.dumps(described))
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "ask.ts").write_text(TYPESCRIPT)
    run(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES)
    # A field with a default may be left out of a request.
    made = ("--output", "schema.d.ts", "--default-non-nullable", "false")
    run(folder, "npx", "openapi-typescript", "openapi.json", *made)
    run(
        folder,
        "npx",
        "tsc",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "node",
        "ask.ts",
    )
    run(folder, "node", "ask.js", url)


def run(folder: Path, command: str, *arguments: str) -> None:
    """Run a command of the folder, or of the path; end with its status where it
    fails.
    """
    own = folder / command
    print(f"$ {Path(command).name} {' '.join(arguments)}", flush=True)
    done = subprocess.run(
        [str(own) if own.exists() else command, *arguments], cwd=folder, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()

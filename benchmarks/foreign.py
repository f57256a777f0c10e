"""How well documents that other people's programs made are read and answered from: no
model, no key, no metadata given.

    python -m benchmarks foreign [FOLDER ...] [--root DIR] [--port N] [--show]

Each FOLDER holds documents and a questions.json: id, file, kind (figure, prose,
overview), question and match, a regular expression or a list of them: a quotation of a
right answer fits one. Without a folder the ten documents of `foreign_documents` are
written and asked about. The checkout of DIR ingests each folder into an empty DATA_DIR
and answers by `POST /query`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.foreign_documents import write_documents

ROOT = Path(__file__).parent.parent
OWN_QUESTIONS = ROOT / "tests" / "library" / "data" / "foreign.json"
QUOTATION = re.compile(r"“([^”]*)”(?=[^“”]*\[\d+\])")
FRAGMENT = re.compile(r"\|.*\||\.{4,}|\+\d[\d ()-]{8,}\d|\S+@\S+\.\w|^\W*$")
COUNT_ROWS = """
import sys
from pathlib import Path
try:
    from chatbot.library.loaders import loader_for
except ImportError:
    from chatbot.loaders import loader_for
for path in map(Path, sys.argv[1:]):
    try:
        sections = loader_for(path).load(path).sections
    except Exception:  # another checkout may refuse the file
        continue
    for section in sections:
        for line in section.text.splitlines():
            print(int(line.startswith("|") and not line.startswith("|---")), int("; " in line and ": " in line))
"""  # noqa: E501
Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        help="documents with a questions.json; none = the ten made here",
    )
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the checkout that answers"
    )
    parser.add_argument("--port", type=int, default=8149)
    parser.add_argument("--show", action="store_true", help="print every answer")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "foreign")
        for given in chosen.folders or [own]:
            if given is own:
                write_documents(own)
            questions = json.loads(
                (OWN_QUESTIONS if given is own else given / "questions.json").read_text(
                    "utf-8"
                )
            )
            measure(given, questions["questions"], chosen)


def measure(folder: Path, questions: list[Json], chosen: argparse.Namespace) -> None:
    """Print the shares of one folder."""
    files = sorted(
        str(path)
        for path in folder.iterdir()
        if path.name not in {"README.md", "questions.json"}
    )
    with tempfile.TemporaryDirectory() as data:
        environment = os.environ | {
            "DATA_DIR": data,
            "SAMPLE_DATA": "off",
            "CHAT_MODEL": "extractive",
            "EMBEDDING_PROVIDER": "minilm",
            "LOG_LEVEL": "WARNING",
            "PORT": str(chosen.port),
        }
        ingested = subprocess.run(
            [sys.executable, "-m", "chatbot", "ingest", *files],
            check=False,
            cwd=chosen.root,
            env=environment,
            capture_output=True,
            text=True,
        )
        if chosen.show or ingested.returncode:
            print(ingested.stdout[-3000:], ingested.stderr[-1500:])
        server = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=chosen.root,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            answers = [ask(chosen.port, question["question"]) for question in questions]
            if server.poll() is not None:
                sys.exit(
                    f"Another program answered at port {chosen.port}. Choose a "
                    "free one by --port."
                )
        finally:
            server.terminate()
            server.wait()
    tally: dict[str, list[bool]] = {}
    fragments: list[bool] = []
    for question, answer in zip(questions, answers, strict=True):
        wanted = (
            question["match"]
            if isinstance(question["match"], list)
            else [question["match"]]
        )
        quotes = QUOTATION.findall(answer["response"])
        bad = [quote for quote in quotes if FRAGMENT.search(quote)]
        good = [quote for quote in quotes if quote not in bad] or [
            "" if quotes else answer["response"]
        ]
        right = any(re.search(pattern, quote) for pattern in wanted for quote in good)
        first = any(
            re.search(pattern, quote)
            for pattern in wanted
            for quote in quotes[:1]
            if quote not in bad
        )
        if question["kind"] == "overview":
            right = right and not bad
        tally.setdefault(f"{question['kind']}: right in the answer", []).append(right)
        if question["kind"] == "figure":
            tally.setdefault("figure: right in the first quotation", []).append(first)
        closest = not answer["answered"] or bool(answer["trace"].get("closest_only"))
        if not right:
            tally.setdefault("wrong answers that say so", []).append(closest)
        else:
            tally.setdefault("right answers that say closest", []).append(closest)
        fragments += [quote in bad for quote in quotes]
        if chosen.show:
            mark = "ok " if right else "BAD"
            print(
                f"\n{mark} {'first' if first else '-'} {question['id']} "
                f"{question['question']} ({question['answer']})"
            )
            print(answer["response"])
    rows = subprocess.run(
        [sys.executable, "-c", COUNT_ROWS, *files],
        check=False,
        cwd=chosen.root,
        capture_output=True,
        text=True,
    )
    counts = [line.split() for line in rows.stdout.splitlines()]
    bare, named = (sum(int(count[at]) for count in counts) for at in (0, 1))
    print(
        f"{folder.name}: {len(files)} documents, {len(questions)} questions, "
        f"checkout {chosen.root}"
    )
    for name, verdicts in tally.items():
        print(f"  {name:<40} {sum(verdicts)} of {len(verdicts)}")
    print(f"  {'fragments quoted':<40} {sum(fragments)} of {len(fragments)}")
    print(f"  {'rows of tables without any heading':<40} {bare} of {bare + named}")


def ask(port: int, query: str) -> Json:
    """Ask once the server is ready."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/query",
        json.dumps({"query": query}).encode(),
        {"Content-Type": "application/json"},
    )
    for _ in range(300):
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError),
            urllib.request.urlopen(request, timeout=60) as response,
        ):
            answer: Json = json.load(response)
            return answer
        time.sleep(0.2)
    raise TimeoutError("the server did not answer within a minute")


if __name__ == "__main__":
    main()

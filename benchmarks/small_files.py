"""Many small files with an embedding endpoint that takes its time, beside another
checkout.

    python -m benchmarks small_files [BASE] [--files 100] [--delay 0.15] [--rounds 3]

Each file has three parts. They are added by `ingest` in a new process, and by one
upload to the application in another; the endpoint is a fake on loopback in this
process, which answers after the delay. Wall time and processor time are those of the
child, without its start: it adds a first file before. The checkouts take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply

ROOT = Path(__file__).parents[1]
DIMENSIONS = 1536
START = """
import json, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
def measured(first, work):
    first()
    began = time.perf_counter(), time.process_time()
    work()
    print(json.dumps([time.perf_counter() - began[0], time.process_time() - began[1]]))
"""
CLI = """
import runpy
def ingest(path):
    sys.argv = ["chatbot", "ingest", str(path)]
    try:
        runpy.run_module("chatbot", run_name="__main__")
    except SystemExit as ended:
        assert not ended.code
measured(lambda: ingest(folder / "first"), lambda: ingest(folder / "rest"))
"""
SERVER = """
import io
from app import app
client = app.test_client()
def upload(path):
    files = [(io.BytesIO(each.read_bytes()), each.name) for each in sorted(path.iterdir())]
    job = client.post("/api/documents", data={"files": files}).get_json()["ingestion_id"]
    while (state := client.get(f"/api/ingestions/{job}").get_json())["state"] in {"queued", "running"}:
        time.sleep(0.25)
    assert {file["state"] for file in state["files"]} == {"done"}, state
measured(lambda: upload(folder / "first"), lambda: upload(folder / "rest"))
import os
sys.stdout.flush()
os._exit(0)
"""  # noqa: E501
WAYS = {"command line": CLI, "server": SERVER}


def write_files(folder: Path, count: int) -> None:
    for number in range(count + 1):
        parts = (
            f"## Part {part}\n\n"
            + f"The clinics of district {number} saw {part + 7} patients in {2000 + part}. "  # noqa: E501
            * 8
            for part in range(3)
        )
        path = folder / ("rest" if number else "first") / f"note-{number:04}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note {number}\n\n" + "\n\n".join(parts), encoding="utf-8")


def measure(
    root: Path, way: str, folder: Path, endpoint: FakeOpenAI
) -> tuple[float, float, int, int]:
    """Return seconds, processor seconds, requests and texts."""
    with tempfile.TemporaryDirectory() as data:
        environment = {
            **{
                name: os.environ[name]
                for name in ("PATH", "HOME", "PYTHONPATH")
                if name in os.environ
            },
            **endpoint.as_environment,
            "DATA_DIR": data,
            "EMBEDDING_PROVIDER": "openai",
            "CHAT_MODEL": "echo",
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
            "PYTHON_DOTENV_DISABLED": "1",
        }
        before = len(endpoint.requests)
        command = [sys.executable, "-c", START + WAYS[way], str(folder)]
        result = subprocess.run(
            command,
            cwd=root,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    seconds, processor = json.loads(result.stdout.splitlines()[-1])
    sent = [
        len(request.body["input"])
        for request in endpoint.requests[before:]
        if request.path == EMBEDDINGS
    ]
    return seconds, processor, len(sent), sum(sent)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", type=Path, help="another checkout")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument(
        "--delay", type=float, default=0.15, help="seconds of each request"
    )
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    roots = {"this": ROOT} | ({"base": chosen.base.resolve()} if chosen.base else {})
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeOpenAI(dimensions=DIMENSIONS) as endpoint,
    ):
        endpoint.always(EMBEDDINGS, Reply(silent_before=chosen.delay))
        write_files(Path(folder), chosen.files)
        for number in range(chosen.rounds):
            for way in WAYS:
                for name in sorted(roots, reverse=number % 2 == 0):
                    seconds, processor, requests, texts = measure(
                        roots[name], way, Path(folder), endpoint
                    )
                    load = f"load {os.getloadavg()[0]:.0f}"
                    print(
                        f"{name}, {way}: {seconds:.2f} s, {processor:.2f} s of processor, "  # noqa: E501
                        f"{texts} texts in {requests} requests ({load})"
                    )


if __name__ == "__main__":
    main()

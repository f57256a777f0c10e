"""Trace the functions of the package that a question or an upload runs through.

    python -m benchmarks.traced_calls ROOT CASE

Prints the figures of one case of `CASES` as JSON. ROOT is a checkout, whose package and
test doubles are used. `figures` runs each case in a process of its own: its first
question is the process's first, too.
"""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

READY_SECONDS = 300.0
QUESTION = "What is the population growth rate of Kenya in 2023?"
DEEP_QUESTION = "How do the population growth rates of Kenya and Somalia differ?"
REPORT = "# Wells of Lamu\n\n## Water\n\nIn 2024 the district counted 118 wells.\n"
REPLY = ("The population", " grows", " by 2.09% a year", " [1].")


def figures(root: Path) -> dict[str, int]:
    """Return the figures of all cases, each in a fresh process without the settings of
    whoever runs this.
    """
    inherited = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    result: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **inherited,
            "PYTHON_DOTENV_DISABLED": "1",
            "DATA_DIR": f"{folder}/data",
            "LOG_LEVEL": "ERROR",
        }
        for case in CASES:
            run = subprocess.run(
                [sys.executable, __file__, str(root), case],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                raise SystemExit(run.stderr)
            result.update(json.loads(run.stdout.splitlines()[-1]))
    return result


def trace(root: Path, case: str) -> dict[str, int]:
    """Return the files, functions and depth of one case, with its name before them."""
    # Python 3.11.2 crashes where garbage is collected while a generator that is
    # profiled starts.
    gc.disable()
    sys.path.insert(0, str(root))
    with_model, run = CASES[case]
    profile = Profile(str(root / "chatbot") + os.sep)
    from chatbot.app.factory import close_app, create_app

    # The sample reports are read before threads are profiled, which takes several times
    # as long.
    app = create_app()
    wait_until_ready(app.test_client())
    close_app(app)
    with fake_model(with_model):
        threading.setprofile(profile.hook)
        app = create_app()
        client = app.test_client()
        wait_until_ready(client)
        sys.setprofile(profile.hook)
        profile.recording = True
        run(client)
        profile.recording = False
        sys.setprofile(None)
        close_app(app)
    return {f"{case}_{name}": value for name, value in profile.figures().items()}


@contextmanager
def fake_model(wanted: bool) -> Iterator[None]:
    """Serve a chat model over HTTP meanwhile and name it in the environment."""
    if not wanted:
        yield
        return
    from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

    with FakeOpenAI() as model:
        model.always(CHAT, Reply(REPLY))
        os.environ.update(model.as_environment, EMBEDDING_PROVIDER="minilm")
        yield


def ask(client: Any) -> None:
    _query(client, {"query": QUESTION})


def ask_deep(client: Any) -> None:
    _query(client, {"query": DEEP_QUESTION, "mode": "deep"})


def _query(client: Any, body: dict[str, str]) -> None:
    reply = client.post("/query", json=body)
    if reply.status_code != 200 or not reply.json["citations"]:
        raise SystemExit(f"The question failed: {reply.status_code} {reply.text}")


def upload(client: Any) -> None:
    """Upload one Markdown report and wait until it can be asked about."""
    file = (io.BytesIO(REPORT.encode()), "lamu.md")
    started = client.post(
        "/api/documents", data={"files": file}, content_type="multipart/form-data"
    )
    if started.status_code != 202:
        raise SystemExit(f"The upload failed: {started.status_code} {started.text}")
    deadline = time.monotonic() + READY_SECONDS
    state = started.json
    while state.get("state") != "done":
        if time.monotonic() > deadline or state.get("state") in ("failed", "cancelled"):
            raise SystemExit(f"The upload failed: {state}")
        time.sleep(0.1)
        state = client.get(f"/api/ingestions/{started.json['ingestion_id']}").json


def wait_until_ready(client: Any) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        state = client.get("/ready").json
        samples = state["sample_data"]
        loaded = 0 < samples["total"] == samples["ready"]
        if state["ready"] and not state["ingesting"] and loaded:
            return
        time.sleep(0.2)
    raise SystemExit(f"Not ready within {READY_SECONDS:.0f} s: {state}")


class Profile:
    """The functions below a folder that were called, in all threads, and the most of
    their frames on one stack.
    """

    def __init__(self, prefix: str) -> None:
        self.recording = False
        self._prefix = prefix
        self._codes: set[CodeType] = set()
        self._depth = 0

    def hook(self, frame: FrameType, event: str, argument: object) -> None:
        if not self.recording or event != "call" or not self._is_ours(frame):
            return
        self._codes.add(frame.f_code)
        depth = 0
        caller: FrameType | None = frame
        while caller is not None:
            depth += self._is_ours(caller)
            caller = caller.f_back
        self._depth = max(self._depth, depth)

    def _is_ours(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self._prefix)

    def figures(self) -> dict[str, int]:
        names = {(code.co_filename, code.co_qualname) for code in self._codes}
        return {
            "files": len({file for file, _ in names}),
            "functions": len(names),
            "depth": self._depth,
        }


CASES: dict[str, tuple[bool, Callable[[Any], None]]] = {
    "question": (False, ask),
    "model_question": (True, ask),
    "deep_question": (True, ask_deep),
    "upload": (False, upload),
}
"""Whether a chat model is connected, and what is traced."""


if __name__ == "__main__":
    print(json.dumps(trace(Path(sys.argv[1]), sys.argv[2])))

"""What a stranger does: build the wheel, install it into an empty environment, serve in
an empty folder with nothing exported, run docs/snippets.md as it is printed, and open
the library from Python.

    python -m benchmarks stranger

Needs a network (PyPI), curl and Node. Exits with 1 at the first step that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PORT = "8765"
URL = f"http://127.0.0.1:{PORT}"
LANGUAGES = {
    "bash": ["bash", "-eu"],
    "python": ["python"],
    "javascript": ["node", "--input-type=module"],
}
START_SECONDS = 300.0
LIBRARY = """
from report_chat import open_library
with open_library("data") as library:
    answer = library.ask("How many people live in Kenya?")
assert answer.citations, answer.response
print(answer.response.splitlines()[0])
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        binaries = install(folder)
        home = folder / "empty"
        home.mkdir()
        environment = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(home)}
        with serving(binaries, home, environment):
            for language, command in LANGUAGES.items():
                step(
                    f"snippets in {language}",
                    command,
                    home,
                    {**environment, "REPORT_CHAT": URL},
                    blocks(language),
                )
        step("the library from Python", ["python"], home, environment, LIBRARY)


def install(folder: Path) -> Path:
    """Build the wheel and install it into a new environment; return its commands."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    step("wheel", [*pip, "-w", str(folder), str(ROOT)], ROOT, dict(os.environ))
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    command = [str(binaries / "pip"), "install", "--quiet", str(wheel), "httpx2"]
    step("installation", command, folder, {"PATH": os.environ["PATH"]})
    return binaries


@contextmanager
def serving(binaries: Path, home: Path, environment: dict[str, str]) -> Iterator[None]:
    """Serve in an empty folder until the sample reports are there."""
    server = subprocess.Popen(
        [str(binaries / "report-chat"), "serve"],
        cwd=home,
        env={**environment, "PORT": PORT},
    )
    try:
        begun = time.monotonic()
        while not is_ready():
            late = time.monotonic() - begun > START_SECONDS
            if late or server.poll() is not None:
                sys.exit("The server does not get ready.")
            time.sleep(1.0)
        print(f"ready after {time.monotonic() - begun:.0f} s", flush=True)
        yield
    finally:
        server.terminate()
        server.wait()


def is_ready() -> bool:
    """Return whether the server has all of its sample reports."""
    try:
        with urllib.request.urlopen(f"{URL}/ready", timeout=5) as response:
            state = json.load(response)
    except OSError:
        return False
    samples = state["sample_data"]
    return bool(samples["total"]) and samples["ready"] == samples["total"]


def blocks(language: str) -> str:
    """Return the blocks of a language in docs/snippets.md, in their order."""
    page = (ROOT / "docs" / "snippets.md").read_text("utf-8")
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S))


def step(
    name: str,
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    text: str = "",
) -> None:
    """Run a command; end with its output where it fails."""
    done = subprocess.run(
        command,
        input=text,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{name}: {'failed' if done.returncode else 'ok'}", flush=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-4000:])


if __name__ == "__main__":
    main()

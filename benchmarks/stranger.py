"""What a stranger does: build the wheels, install them into empty environments, serve
in an empty folder with nothing exported, run docs/snippets.md as it is printed, and
open the library from Python.

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
    """Build the wheels. Install the program alone, which has to name what it lacks,
    then with the extra `local`; return the commands of that.
    """
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    wheels = folder / "wheels"
    for source in (ROOT, ROOT / "local"):
        command = [*pip, "-w", str(wheels), str(source)]
        step(f"wheel of {source.name}", command, ROOT, dict(os.environ))
    program = str(next(wheels.glob("report_chat-*.whl")))
    local_files = str(next(wheels.glob("report_chat_local-*.whl")))
    slim = environment_with(folder / "slim", [program])
    refuses_to_start(slim, folder / "slim")
    return environment_with(
        folder / "full", [f"{program}[local,mcp]", local_files, "httpx2"]
    )


def environment_with(folder: Path, packages: list[str]) -> Path:
    """Install packages into a new environment, print its size, and return its
    commands.
    """
    venv.create(folder, with_pip=True)
    binaries = folder / "bin"
    (installed,) = (folder / "lib").glob("python3*/site-packages")
    empty = size_of(installed)
    command = [str(binaries / "pip"), "install", "--quiet", *packages]
    step("installation", command, folder, {"PATH": os.environ["PATH"]})
    print(f"{folder.name}: {(size_of(installed) - empty) / 2**20:.0f} MB", flush=True)
    return binaries


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def refuses_to_start(binaries: Path, home: Path) -> None:
    """End unless a start without MongoDB names the extra that it needs."""
    started = subprocess.run(
        [str(binaries / "report-chat"), "serve"],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PORT": PORT},
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    if "pip install 'report-chat[local]'" not in started.stderr:
        sys.exit(f"The slim program does not say what it needs: {started.stderr}")
    print("the slim program names what it needs: ok", flush=True)


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

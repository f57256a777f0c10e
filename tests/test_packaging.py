"""`pip install .`: the wheel has everything that the program needs, and serves from an
empty folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from chatbot import __version__
from chatbot.app.cli import main

ROOT = Path(__file__).parent.parent
VENDORED = re.compile(r"(pdfjs|dompurify|marked)-([\d.]+)\.js")
SHIPPED = ("templates", "static")
SERVES = """
import time
from chatbot.app.factory import close_app, create_app
app = create_app()
client = app.test_client()
assert "_shipped" in app.static_folder and not app.static_folder.startswith({root!r})
assert client.get("/").status_code == client.get("/static/css/base.css").status_code == 200
until = time.monotonic() + 60
while client.get("/ready").json["sample_data"]["ready"] < 1:
    assert time.monotonic() < until
    time.sleep(0.2)
close_app(app)
"""  # noqa: E501


def unpacked_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a distribution, and return the folder with its files."""
    command = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        folder,
        source,
    ]
    subprocess.run([sys.executable, *command], check=True)
    (made,) = folder.glob("*.whl")
    with zipfile.ZipFile(made) as packed:
        packed.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the program, unpacked."""
    return unpacked_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def local_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the built-in model and the sample reports, unpacked."""
    return unpacked_wheel(ROOT / "local", tmp_path_factory.mktemp("local"))


def files_below(folder: Path) -> set[str]:
    """Without what Python leaves behind."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_the_package_and_what_ships_with_it(wheel: Path) -> None:
    packed = files_below(wheel / "chatbot")
    beside = {
        f"_shipped/{name}/{file}"
        for name in SHIPPED
        for file in files_below(ROOT / name)
    }
    package = {
        name for name in files_below(ROOT / "chatbot") if not name.endswith(".onnx")
    }
    assert packed == package | beside | {"_shipped/gunicorn.conf.py"}


@pytest.mark.nightly
def test_the_model_and_the_sample_reports_are_a_wheel_of_their_own(
    local_wheel: Path,
) -> None:
    folders = {
        "models": ROOT / "chatbot" / "models" / "embed" / "models",
        "sample_data": ROOT / "sample_data",
    }
    expected = {"__init__.py"}
    for name, folder in folders.items():
        expected |= {f"{name}/{file}" for file in files_below(folder)}
    assert files_below(local_wheel / "report_chat_local") == expected
    assert (ROOT / "local" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_wheel_needs_what_the_requirements_say(wheel: Path) -> None:
    (metadata,) = wheel.glob("*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    needed = {
        requirement(line)
        for line in re.findall(r"^Requires-Dist: (.*)$", text, re.MULTILINE)
    }
    extras = {
        path.stem.removeprefix("requirements-"): path
        for path in ROOT.glob("requirements-*.txt")
    }
    del extras["dev"]
    core = requirements(extras.pop("core"))
    provided = set(re.findall(r"^Provides-Extra: (.*)$", text, re.MULTILINE))
    assert provided == {*extras, "all"}
    local_files = {("report-chat-local", f"=={__version__}")}
    assert needed == core.union(local_files, *map(requirements, extras.values()))
    of_all = re.findall(r"^Requires-Dist: (.*); .*extra == 'all'", text, re.MULTILINE)
    assert {requirement(line) for line in of_all} == needed - core
    assert f"Version: {__version__}\n" in text


def test_an_installed_wheel_serves_from_an_empty_folder(
    wheel: Path, local_wheel: Path, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(
        "EMBEDDING_PROVIDER=minilm\nSUMMARIES=off\n", encoding="utf-8"
    )
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHON_DOTENV_DISABLED"
    }
    manifest = local_wheel / "report_chat_local" / "sample_data" / "manifest.json"
    reports = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(reports[:2]), encoding="utf-8")  # two will do
    command = [sys.executable, "-c", SERVES.format(root=str(ROOT))]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**inherited, "PYTHONPATH": f"{wheel}{os.pathsep}{local_wheel}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "data").is_dir()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("module", ["faiss", "onnxruntime"])
def test_without_the_extra_local_or_mongodb_the_start_says_what_to_install(
    module: str, wheel: Path, tmp_path: Path
) -> None:
    start = "import sys; sys.modules[{!r}] = None; {}; main(['serve'])".format(
        module, "from chatbot.app.cli import main"
    )
    started = subprocess.run(
        [sys.executable, "-c", start],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 1
    assert "Install it: pip install 'report-chat[local]'" in started.stderr
    assert "Traceback" not in started.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn does not run on Windows")
@pytest.mark.nightly
def test_gunicorn_finds_its_configuration_from_an_empty_folder(
    wheel: Path, local_wheel: Path, tmp_path: Path
) -> None:
    """By the command that docs/deploy.md has."""
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    [command] = re.findall(
        r"^    (gunicorn 'chatbot\.app\.factory.*)$", page, re.MULTILINE
    )
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{wheel}{os.pathsep}{local_wheel}",
        "PATH": binaries,
        "PORT": "8765",
    }
    shown = subprocess.run(
        [*("sh", "-c"), f"{command} --print-config"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "LoopWorker" in shown
    assert "8765" in shown


def test_the_console_script_is_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["scripts"] == {"report-chat": f"{main.__module__}:{main.__name__}"}
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_the_newest_release_is_the_version() -> None:
    releases = re.findall(
        r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$",
        (ROOT / "CHANGELOG.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert releases[0] == __version__
    assert releases == sorted(
        releases, key=lambda release: [*map(int, release.split("."))], reverse=True
    )


def requirements(path: Path) -> set[tuple[str, str]]:
    lines = (
        line.partition("  #")[0].strip()
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    return {
        requirement(line) for line in lines if line and not line.startswith(("#", "-r"))
    }


def requirement(line: str) -> tuple[str, str]:
    """Return the normalised name and the versions."""
    parsed = Requirement(line)
    return re.sub(r"[-_.]+", "-", parsed.name).lower(), str(parsed.specifier)


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_the_lock_has_every_package_within_its_range_and_with_hashes(name: str) -> None:
    lock = (ROOT / f"{name}.lock").read_text()
    pins = {
        pin[0]: pin[1]
        for pin in re.findall(
            r"^([\w.-]+)==(\S+).*?\\\n    --hash=sha256:[0-9a-f]{64}", lock, re.M
        )
    }
    assert len(pins) == len(set(re.findall(r"^([\w.-]+)==", lock, re.M)))
    for line in (ROOT / f"{name}.txt").read_text().splitlines():
        if (text := line.partition("#")[0].strip()) and not text.startswith("-r "):
            asked = Requirement(text)
            assert pins[asked.name.lower()] in asked.specifier, text


def test_no_vendored_script_has_a_known_weakness() -> None:
    vendored = {
        m[1]: Version(m[2])
        for p in (ROOT / "static/vendor").glob("*.js")
        if (m := VENDORED.match(p.name))
    }
    advisories = json.loads((ROOT / "static/vendor/advisories.json").read_text())
    assert {advisory["package"] for advisory in advisories} == set(vendored)
    assert all(
        "#" in advisory["source"] for advisory in advisories
    )  # an issue or pull request on GitHub
    assert [
        one["id"]
        for one in advisories
        if vendored[one["package"]] < Version(one["fixed"])
    ] == []


def test_a_release_needs_pins_which_make_pin_reads_from_the_registries(
    tmp_path: Path,
) -> None:
    for name in ("Dockerfile", ".ci/pin", ".github/workflows"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(
            ROOT / name, tmp_path / name
        )
    workflow = tmp_path / ".github/workflows/ci.yml"
    workflow.write_text(re.sub(r"@[0-9a-f]{40}  # v", "@v", workflow.read_text()))
    for name, answer in (
        ("git", "0123456789" * 4 + "\trefs/tags/v4^{}"),
        ("docker", f"sha256:{'ab' * 32}"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tmp_path / name).chmod(0o755)
    command, environment = (
        [sys.executable, str(tmp_path / ".ci/pin")],
        {"PATH": f"{tmp_path}:{os.defpath}"},
    )
    tried = [
        subprocess.run(
            [*command, *option],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for option in (["--check"], [], ["--check"], [])
    ]
    assert [one.returncode for one in tried] == [1, 0, 0, 0]
    assert all(name in tried[0].stderr for name in ("FROM python", "actions/checkout"))
    (tmp_path / "git").write_text(
        "#!/bin/sh\necho 'could not resolve host' >&2\nexit 128\n"
    )
    (tmp_path / "docker").write_text(f"#!/bin/sh\necho 'sha256:{'cd' * 32}'\n")
    offline = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert (offline.returncode, "could not resolve host" in offline.stderr) == (1, True)
    assert "Traceback" not in offline.stderr
    assert (
        f"python:3.12-slim@sha256:{'ab' * 32} AS"
        in (tmp_path / "Dockerfile").read_text()
    )
    assert ".ci/pin --check" in (tmp_path / ".github/workflows/release.yml").read_text()

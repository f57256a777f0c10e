"""What an installation lacks is said in one line, before a package is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command", [("app.py",), ("-m", "chatbot", "doctor")])
def test_a_missing_package_is_named_with_the_remedy(command: tuple[str, ...]) -> None:
    # -S: without the folder of installed packages.
    started = subprocess.run(
        [sys.executable, "-S", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 1
    assert "flask is not installed" in started.stderr
    assert "pip install -r requirements.txt" in started.stderr
    assert "Traceback" not in started.stderr


def test_an_older_python_is_told_which_one_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from chatbot.prerequisites import require_installation

    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer.* 3\.10\."):
        require_installation()

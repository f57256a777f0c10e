"""The guard in conftest.py: no test depends on the developer's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from chatbot.config.settings import Settings

ROOT = Path(__file__).parent.parent


def test_settings_come_from_nowhere_but_the_test() -> None:
    assert Settings.from_env() == Settings()
    assert not [name for name in os.environ if name.startswith("OPENAI_")]


def test_the_guard_holds_in_an_environment_full_of_settings() -> None:
    planted = {"TOP_K": "7", "MONGODB_URI": "mongodb://elsewhere", "OPENAI_API_KEY": "sk-x", "OPENAI_ORG_ID": "org"}
    test = f"{__file__}::{test_settings_come_from_nowhere_but_the_test.__name__}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        env={**os.environ, **planted},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr

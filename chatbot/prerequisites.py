"""Say in one line what an installation lacks, before anything of it is imported: the
right Python, or the packages. Only the standard library is imported here.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["require_installation"]


def require_installation() -> None:
    """Exit with a line that says what to do where the program cannot run at all."""
    if sys.version_info < (3, 11):  # noqa: UP036 - an older one may run this file
        running = ".".join(map(str, sys.version_info[:2]))
        sys.exit(
            f"report-chat needs Python 3.11 or newer; this is Python {running}. "
            "Make a virtual environment with a newer one: python3.12 -m venv venv"
        )
    for package in ("flask", "pymongo", "Stemmer"):
        if find_spec(package) is None:
            is_checkout = (
                Path(__file__).parents[1].joinpath("requirements.txt").is_file()
            )
            command = "-r requirements.txt" if is_checkout else "report-chat"
            sys.exit(
                f"The Python package {package} is not installed in {sys.prefix}. "
                f"Install all: pip install {command}"
            )

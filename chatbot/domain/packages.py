"""How the packages of an extra are installed, said so that the command works as it is
printed.
"""

from pathlib import Path

__all__ = ["LOCAL_MODULES", "install_command"]

LOCAL_MODULES = frozenset({"faiss", "onnxruntime", "tokenizers"})
"""Modules that the extra `local` brings."""
ROOT = Path(__file__).parents[2]


def install_command(extra: str = "", *, root: Path = ROOT) -> str:
    """Return the command that installs what an extra of pip needs, or with "" what the
    program itself does: of the requirements beside a checkout (``root``), else of the
    distribution.
    """
    name = f"requirements-{extra}.txt" if extra else "requirements.txt"
    if (root / name).is_file():
        return f"pip install -r {name}"
    if extra:
        return f"pip install 'report-chat[{extra}]'"
    return "pip install report-chat"

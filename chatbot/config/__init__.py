"""The files that ship with the program: beside the package in a checkout, inside it
when installed (pyproject.toml).
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_ROOT = _PACKAGE / "_shipped" if (_PACKAGE / "_shipped").is_dir() else _PACKAGE.parent

TEMPLATES = _ROOT / "templates"
STATIC = _ROOT / "static"
SAMPLE_DATA = _ROOT / "sample_data"
GUNICORN = _ROOT / "gunicorn.conf.py"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"

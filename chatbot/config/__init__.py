"""The files that ship with the program: beside the package in a checkout. Installed,
the page is inside of it; the built-in model and the sample reports are a package of
their own, which the extra `local` brings (pyproject.toml, local/pyproject.toml).
"""

from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_SHIPPED = _PACKAGE / "_shipped"
IS_INSTALLED = _SHIPPED.is_dir()


def _folder_of_local_files() -> Path:
    """Return where the model and the sample reports are; a folder without them where
    the extra `local` is not installed.
    """
    spec = find_spec("report_chat_local")
    if spec is None or not spec.submodule_search_locations:
        return _SHIPPED
    return Path(spec.submodule_search_locations[0])


_ROOT = _SHIPPED if IS_INSTALLED else _PACKAGE.parent
_LOCAL = _folder_of_local_files() if IS_INSTALLED else _ROOT
_MODELS = "models" if IS_INSTALLED else "chatbot/models/embed/models"

TEMPLATES = _ROOT / "templates"
STATIC = _ROOT / "static"
GUNICORN = _ROOT / "gunicorn.conf.py"
"""For the command of docs/deploy.md, where the program is installed."""
SAMPLE_DATA = _LOCAL / "sample_data"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"
MODELS = _LOCAL / _MODELS
"""The folder of the embedding models that are files."""
VOCABULARY = _PACKAGE / "models/embed/models/all-minilm-l6-v2/tokenizer.json"
"""The words of the built-in model, which the program knows without it, too."""

"""Ask your reports: scoped, grounded answers over country reports, yearly reviews and
other documents.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app.similarity import create_embedding, similarity_search

__all__ = ["create_embedding", "similarity_search"]
__version__ = "0.6.0"


def __getattr__(name: str) -> Any:
    """The two functions, when they are first asked for: importing a part of the package
    opens none of the others.
    """
    if name in __all__:
        from .app import similarity

        return getattr(similarity, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

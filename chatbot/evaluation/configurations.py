"""Which ways to retrieve are compared: the product's own first, then one change at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..chunkers import CHUNKERS
from ..errors import InvalidRequestError, UnknownNameError
from ..presets import PRESETS, query_time
from ..retrieval import RETRIEVAL_METHODS
from ..settings import Settings


@dataclass(frozen=True, slots=True)
class Configuration:
    """A name for the table, and the settings that differ from the product's own."""

    name: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cuts_anew(self) -> bool:
        """Whether the reports have to be cut and embedded again for it."""
        return "chunk_strategy" in self.overrides


@dataclass(frozen=True, slots=True)
class Compared:
    """What a person asked to compare, besides the own configuration."""

    methods: Sequence[str] = ()
    weights: Sequence[float] = ()
    chunkers: Sequence[str] = ()
    presets: Sequence[str] = ()


def configurations(settings: Settings, compared: Compared) -> list[Configuration]:
    """The configured one; then what was asked for, or every other method where nothing was.

    Raises:
        InvalidRequestError: a name that does not exist, or a weight that is none.
    """
    own = settings.retrieval_method
    methods = compared.methods if compared != Compared() else RETRIEVAL_METHODS.names()
    found = [Configuration(f"{own} (as configured)")]
    for method in methods:
        RETRIEVAL_METHODS.check(method, field="--methods")
        if method != own:
            found.append(Configuration(method, {"retrieval_method": method}))
    for weight in compared.weights:
        if not 0 <= weight <= 1:
            raise InvalidRequestError.for_field("--weights", f"{weight:g} is not between 0 and 1.")
        weighted = {"retrieval_method": "hybrid", "vector_weight": weight}
        found.append(Configuration(f"hybrid, weight {weight:g}", weighted))
    for name in compared.chunkers:
        CHUNKERS.check(name, field="--chunkers")
        found.append(Configuration(f"chunker {name}", {"chunk_strategy": name}))
    for name in compared.presets:
        if name not in PRESETS:
            raise UnknownNameError.among("--presets", "preset", name, PRESETS)
        # As a request would have it: the reports stay cut as they are.
        found.append(Configuration(f"preset {name}", {**query_time(name), "preset": None}))
    return list({configuration.name: configuration for configuration in found}.values())

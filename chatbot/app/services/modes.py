"""How a question is answered: its mode, its preset and its budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...answering.modes import CHOOSES, DEFAULT, MODES, needs_language_model
from ...config.settings import Settings
from ...config.settings_types import PRESETS, query_time
from ...domain.chat import Budget
from ...domain.errors import InvalidRequestError, UnknownNameError
from .chat_models import ChatModels


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes, presets and budgets that questions may name here."""

    settings: Settings
    models: ChatModels

    def settings_with(self, preset: str) -> Settings:
        """Return the settings with the query-time figures of a preset; "" = as they
        are. Raises UnknownNameError.
        """
        if not preset:
            return self.settings
        if preset not in PRESETS:
            raise UnknownNameError.among("preset", "preset", preset, PRESETS)
        return self.settings.override(**query_time(preset))

    def check(self, mode: str | None, preset: str = "") -> str:
        """Return the mode of a question: the one it names, else that of the preset or
        the settings. Raises UnknownNameError: no such mode, or no language model for
        it.
        """
        field = "mode" if mode or preset else "MODE"
        mode = MODES.check(mode or self.default(preset), field=field)
        if self._is_usable(mode):
            return mode
        valid = [name for name, is_usable in self.usable().items() if is_usable]
        message = (
            f"{mode!r} needs a language model: set OPENAI_API_KEY, or CHAT_MODEL "
            "and OPENAI_BASE_URL. "
            f"Without one: {', '.join(valid)}."
        )
        raise UnknownNameError.for_field(field, message, valid)

    def default(self, preset: str = "") -> str:
        """Return the mode of a question that names none; without a setting, `auto` if
        choosing makes no call.
        """
        mode = self.settings_with(preset).mode
        if mode:
            return mode
        if self.models.chat.is_language_model:
            return DEFAULT
        return CHOOSES

    def usable(self) -> dict[str, bool]:
        """Return whether each mode can be used here: some need a language model."""
        return {name: self._is_usable(name) for name in MODES.names()}

    def _is_usable(self, mode: str) -> bool:
        if self.models.chat.is_language_model:
            return True
        return not needs_language_model(mode)

    def budget(self, limits: Mapping[str, Any]) -> Budget:
        """Return what one question may cost: as the settings allow, or less. Raises
        InvalidRequestError.
        """
        settings = self.settings
        allowed = {
            "calls": settings.budget_calls,
            "tokens": settings.budget_tokens,
            "seconds": settings.budget_seconds,
        }
        for name, value in limits.items():
            if not 1 <= value <= allowed[name]:
                raise InvalidRequestError.for_field(
                    f"budget.{name}", f"must be from 1 to {allowed[name]:g}."
                )
        return Budget(**{**allowed, **limits})

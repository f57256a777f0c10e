"""From a request to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..agents import AGENTS, NEED_LANGUAGE_MODEL
from ..agents.understanding import Understanding
from ..cancellation import Cancellation
from ..chat_models import FREE
from ..conversation.books import Books
from ..conversation.condense import Condenser
from ..conversation.follow_up import FollowUps
from ..conversation.ledger import Prices
from ..conversation.service import ChatService
from ..embedders import LOCAL
from ..errors import InvalidRequestError, UnknownNameError
from ..ingestion.sources import document_id
from ..loaders.isolated import IsolatedLoader
from ..protocols import Agent
from ..retrieval.pipeline import Retriever
from ..schema import Budget, Document
from ..text import analyzer
from .current import Current


class Asking(Current):
    """What chat endpoints and `ask` use."""

    @property
    def retriever(self) -> Retriever:
        return self.model_bound.retriever_for("")

    def agent(self, mode: str, preset: str = "") -> Agent:
        """Raises UnknownNameError."""
        AGENTS.check(mode, field="mode")
        return self.model_bound.agent(mode, preset)

    def check_mode(self, mode: str | None, preset: str = "") -> str:
        """The mode of a question: as asked for, else as the preset or the settings say.

        Raises:
            UnknownNameError: no such mode, or no language model for it.
        """
        mode = AGENTS.check(mode or self.query_settings(preset).mode, field="mode")
        if mode in NEED_LANGUAGE_MODEL and not self.has_language_model:
            valid = [name for name in AGENTS.names() if name not in NEED_LANGUAGE_MODEL]
            message = (
                f"{mode!r} needs a language model: set OPENAI_API_KEY, or CHAT_MODEL and OPENAI_BASE_URL. "
                f"Without one: {', '.join(valid)}."
            )
            raise UnknownNameError.for_field("mode", message, valid)
        return mode

    def agent_modes(self) -> list[tuple[str, bool, str]]:
        """Each mode, whether it can be used here, and why not."""
        needs = "needs a language model"
        usable = {name: name not in NEED_LANGUAGE_MODEL or self.has_language_model for name in AGENTS.names()}
        return [(name, can, "" if can else needs) for name, can in usable.items()]

    def budget(self, asked: Mapping[str, Any]) -> Budget:
        """What one question may cost: as the settings allow, or less. Raises InvalidRequestError."""
        most = {name: getattr(self.settings, f"budget_{name}") for name in ("calls", "tokens", "seconds")}
        for name, value in asked.items():
            if not 1 <= value <= most[name]:
                raise InvalidRequestError.for_field(f"budget.{name}", f"must be from 1 to {most[name]:g}.")
        return Budget(**{**most, **asked})

    def attached(self, path: Path, name: str, cancel: Cancellation) -> Document:
        """A file for one question; it is not stored. Raises LoadError, CancelledError."""
        # A reader of its own: nobody who asks waits for a long ingestion.
        loader = self._once("attachment_loader", lambda: IsolatedLoader(time_limit=self.settings.model_timeout))
        loaded = loader.load(path, cancel=cancel)
        identity = f"attachment-{document_id(name)}"
        return Document(identity, name, loaded.title, name, {}, loaded.sections, pages=loaded.pages)

    @property
    def chat(self) -> ChatService:
        return self._once("chat", self._build_chat)

    def _build_chat(self) -> ChatService:
        words = analyzer(self.settings.language)
        follow_ups = FollowUps(words, self.documents)
        return ChatService(
            conversations=self.conversations,
            agents=self.agent,
            condenser=Condenser(follow_ups=follow_ups, chat_models=self.chat_models, analyzer=words),
            understanding=Understanding(
                catalog=self.documents,
                chat_models=self.chat_models,
                on_empty=self.settings.on_empty,
            ),
            books=Books(
                prices=Prices(self.settings.model_prices, free=FREE | LOCAL),
                chat_model_id=self.chat_model.model_id,
                embedder_id=lambda: self.embedder.model_id,
                days=self.usage,
                conversations=self.conversations,
            ),
        )

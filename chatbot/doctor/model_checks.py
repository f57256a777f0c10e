"""Do the models answer, and are they those the database was written with?"""

from __future__ import annotations

from collections.abc import Iterator

from ..cancellation import Cancellation
from ..schema import Chunk, Context, Message, Passage, Prompt, SearchHit
from ..services import Services
from .finding import Finding


def check_embedder(services: Services) -> Iterator[Finding]:
    """One real embedding; a stored model that is not the configured one is an EmbedderMismatchError."""
    embedder = services.model_bound.embedder.uncached  # a vector that is kept says nothing of the endpoint
    found = len(embedder.embed_query("Does the embedding model answer?"))
    if found != embedder.dimensions:
        yield Finding(
            "error",
            "embedder",
            "wrong_dimensions",
            f"{embedder.model_id} answers with {found} dimensions, {embedder.dimensions} are expected.",
            "Set EMBEDDING_MODEL to the model the database was written with.",
        )
        return
    yield Finding("ok", "embedder", "answers", f"{embedder.model_id}, {found} dimensions")


def check_chat_model(services: Services) -> Iterator[Finding]:
    """One real, short completion, broken off at its first word."""
    model = services.chat_model
    cancel = Cancellation()
    for _ in model.stream(_PROMPT, cancel=cancel):
        break
    cancel.cancel()
    yield Finding("ok", "chat_model", "answers", model.model_id)
    if model.model_id == "extractive":
        yield Finding(
            "warning",
            "chat_model",
            "no_language_model",
            "Answers are quotations: no language model is configured.",
            "Set OPENAI_API_KEY, or OPENAI_BASE_URL and CHAT_MODEL for a server of your own.",
        )


_PASSAGE = Passage(1, SearchHit(Chunk("", "", "", "Doctor", "The model answers."), rank=1), "The model answers.")
_PROMPT = Prompt((Message("user", "Answer with the word: yes."),), "Does the model answer?", Context((_PASSAGE,)))

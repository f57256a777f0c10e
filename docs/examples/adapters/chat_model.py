"""Names the reports that were found, one a line, with their numbers: an answer without
any writing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.settings import Settings
from ...domain import Delta, Prompt, Usage
from ...domain.request import RequestContext


class TitlesChatModel:
    """Implements `protocols.ChatModel`; no language model, so that the modes that plan
    do it by rule.
    """

    model_id = "titles"
    is_language_model = False

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        for passage in prompt.context.passages:
            if request.cancelled:
                return
            yield Delta(f"- {passage.hit.chunk.title} [{passage.number}]\n")
        yield Delta(usage=Usage(calls=1))


def build(settings: Settings, *, model: str) -> TitlesChatModel:
    return TitlesChatModel()

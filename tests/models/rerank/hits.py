"""Hits to rerank, and a chat model that says what it is told to."""

from collections.abc import Iterator, Sequence

from chatbot.domain import Chunk, Delta, Prompt, RequestContext, SearchHit, Usage


def hit(
    name: str, *, score: float = 0.5, source: str = "", text: str = ""
) -> SearchHit:
    chunk = Chunk(name, source, source, "", text or f"text of {name}")
    return SearchHit(chunk, score=score, fused_score=score, found_by=("vector",))


def ids(hits: Sequence[SearchHit]) -> list[str]:
    return [one.chunk.id for one in hits]


class Scripted:
    """Implements `protocols.ChatModel`: one reply per call, in order; the prompts are
    kept.
    """

    is_language_model = True
    model_id = "scripted"

    def __init__(self, *replies: str) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        self.prompts.append(prompt)
        for piece in self._replies.pop(0).split(" "):
            yield Delta(piece + " ")
        yield Delta(usage=Usage(100, 5, calls=1))

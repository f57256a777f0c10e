"""A prompt over given passages, and a model on a server that does what it is told."""

from chatbot.domain import Chunk, Context, Message, Passage, Prompt, SearchHit


def passage(
    number: int,
    text: str,
    *,
    title: str = "Kenya 2023",
    section: str = "Population",
    **chunk: object,
) -> Passage:
    score, heading = chunk.pop("score", 0.9), chunk.pop("heading_score", None)
    found = Chunk(
        f"d-v-{number:05d}", "d", "kenya", title, text, section=section, **chunk
    )  # type: ignore[arg-type]
    return Passage(
        number, SearchHit(found, number, score=score, heading_score=heading), text
    )  # type: ignore[arg-type]


def prompt(
    question: str = "How many people live in Kenya?", *passages: Passage
) -> Prompt:
    messages = (Message("system", "Use only the passages."), Message("user", question))
    return Prompt(messages, question, Context(passages))

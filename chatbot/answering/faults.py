"""Says why the language model did not write an answer: to readers without names of
settings, to those who run the program with what helps.
"""

from ..domain.errors import ChatModelError
from .turn import Turn

__all__ = ["empty_reply", "error_text", "explain"]

AWAY = "The language model is not available at the moment."
WAIT = "Try again in {seconds} s."
SENTENCES = {
    "rate_limited": "The language model takes no more questions at the moment.",
    "timeout": "The language model did not answer in time.",
    "broken_off": "The language model broke off.",
    "empty": "The language model wrote nothing.",
    "refused": "The language model declined to answer.",
    "content_filter": "The content filter of the language model stopped the answer.",
    "context_too_long": "This is too much text for the language model.",
}
"""By `errors.Fault`; what is not listed says nothing to readers."""


def explain(turn: Turn, error: ChatModelError) -> str:
    """Return one line in the language of the question that says why the model did not
    write. Where everything is open to everyone readers are not told what to set: the
    path has it.
    """
    line = _sentence(turn, error)
    if turn.request.caller.oversees:
        line += f" ({error.message})"
    return line


def _sentence(turn: Turn, error: ChatModelError) -> str:
    """Return the part of the line that everybody may read."""
    is_listed = error.reason in SENTENCES
    line = turn.say(SENTENCES[error.reason] if is_listed else AWAY)
    if error.reason == "rate_limited" and error.retry_after is not None:
        line += f" {turn.say(WAIT, seconds=error.retry_after)}"
    return line


def error_text(turn: Turn, error: ChatModelError) -> str:
    """Return the same for a step of the path."""
    if turn.request.caller.runs_the_program:
        return error.message
    return _sentence(turn, error)


def empty_reply(model_id: str) -> ChatModelError:
    """Return the error for a reply without a word."""
    return ChatModelError(
        f"{model_id} wrote nothing.", remedy="Try again.", reason="empty"
    )

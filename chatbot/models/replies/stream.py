"""A model's reply while it comes: what of it is said aloud (R-C8), and what it has cost
(R-C7).
"""

import re
from collections.abc import Generator
from dataclasses import replace

from ...domain import Delta, Prompt, TokenEvent, Usage
from ...domain.errors import TIMEOUT, ChatModelError, ContextLengthError
from ...domain.protocols import ChatModel
from ...domain.request import RequestContext
from ...language.counts import estimate_tokens, estimate_tokens_of

MAX_READ_CHARACTERS = 20_000
LEAST_CUT, LEAST_READ, CUT_SHARE = 500, 100, 0.6
"""Estimated tokens of a prompt from which on a server that counts less than this share
has not read all of it; fewer than the second are no count of a prompt.
"""
CUT = (
    "The server read {read:,} of about {sent:,} tokens: it cut the prompt. Raise "
    "its context size (num_ctx of Ollama), "
    "or lower CONTEXT_TOKENS."
)
_TAG = re.compile(
    r"(</?think(?:ing)?\s*>|<\|channel\|>[^<]{0,40}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>"
    r"|<\|start\|>\s*assistant|<\|(?!(?:channel|start)\|)[a-z][\w "
    r"]{0,30}\|>|\[/?INST\]|</s>)",
    re.IGNORECASE,
)
"""Marks of thoughts, and the control tokens of chat templates (ChatML, Llama, Mistral,
OpenAI's harmony).
"""
_BEGUN_TAG = re.compile(
    r"(?:<\|channel\|>[^<]{0,40}(?:<\|constrain\|>[^<]{0,20})?(?:<(?:\|[a-z]{0,9}\|?)?)?|<\|start\|>\s*[a-z]{0,8}"
    r"|<(?:\|(?:[a-z][\w ]{0,30}\|?)?)?"
    r"|</?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\s*|</s?|\[/?(?:I(?:N(?:S(?:T)?)?)?)?)$",
    re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


class Reply:
    """The reply to one ``prompt`` so far. It outlives a failure in the middle.
    ``truncated``: the model stopped at the limit of tokens.
    """

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._pieces: list[str] = []
        self._half = ""
        self._counted: Usage | None = None
        self.truncated = False

    def add(self, delta: Delta) -> str:
        """Return the part of ``delta`` that can be sent and stored; half a character
        waits for the next delta.
        """
        text = self._half + delta.text
        self._half = ""
        if _SURROGATE.search(text):
            self._half = text[-1:] if _FIRST_HALF.search(text) else ""
            whole = text[: len(text) - len(self._half)]
            text = whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if text:
            self._pieces.append(text)
        self._counted = (
            delta.usage or self._counted
        )  # some servers count anew with every piece
        self.truncated = self.truncated or delta.truncated
        return text

    @property
    def has_begun(self) -> bool:
        """True if the model has written anything, thoughts included."""
        return bool(self._pieces)

    @property
    def text(self) -> str:
        """The reply without thoughts (R-C8)."""
        return without_thoughts("".join(self._pieces))

    @property
    def cut_prompt(self) -> str:
        """A warning where the server read far fewer tokens than it was sent, else
        "".
        """
        sent = estimate_tokens_of(self.prompt.texts)
        read = self._counted.prompt_tokens if self._counted else 0
        return (
            CUT.format(read=read, sent=sent)
            if sent >= LEAST_CUT and LEAST_READ < read < sent * CUT_SHARE
            else ""
        )

    @property
    def usage(self) -> Usage:
        """The server's count of tokens; an estimate if the server gave none."""
        usage = self._counted
        if usage is None:
            read = estimate_tokens_of(self.prompt.texts)
            usage = Usage(read, estimate_tokens("".join(self._pieces)), calls=1)
        return replace(usage, fixed_tokens=self.prompt.fixed_tokens)

    def usage_of_failed(self, error: ChatModelError) -> Usage:
        """Return what a failed call cost: nothing if it was refused, else what arrived
        before it ended.
        """
        paid = self.has_begun or self._counted is not None or error.reason == TIMEOUT
        return replace(self.usage if paid else Usage(calls=1), failed_calls=1)


def completion(
    model: ChatModel,
    prompt: Prompt,
    request: RequestContext,
    reply: Reply | None = None,
    *,
    above: str = "",
) -> Generator[TokenEvent, None, Reply]:
    """Yield tokens, without thoughts, and return the whole reply.

    ``reply`` is filled, for a caller that continues after a failure. ``above``: what
    the program says before the model's first word. Raises ContextLengthError: the
    prompt is too long, nothing was written yet; ChatModelError.
    """
    reply = reply or Reply(prompt)
    visible = ThoughtFilter()
    try:
        for delta in model.stream(prompt, request=request):
            if (text := reply.add(delta)) and (shown := visible.add(text)):
                yield TokenEvent(above + shown)
                above = ""
    except ContextLengthError as error:
        if not reply.has_begun:
            raise
        raise ChatModelError(
            f"{model.model_id} had no room left in the middle of its answer.",
            remedy="Lower CONTEXT_TOKENS.",
        ) from error
    if rest := visible.rest():
        yield TokenEvent(above + rest)
    return reply


def complete(
    model: ChatModel,
    prompt: Prompt,
    request: RequestContext,
    reply: Reply | None = None,
) -> Reply:
    """Return the whole reply at once. See `completion`."""
    reply = reply or Reply(prompt)
    for _ in completion(model, prompt, request, reply):
        pass
    return reply


def without_thoughts(reply: str) -> str:
    """Return the reply without its thoughts, also where only one of the two tags
    exists, and without control tokens. A closing tag without an opening one ends
    thoughts that began with the reply: many chat templates write the opening tag into
    the prompt. The first closing tag ends thoughts, because models mention the opening
    tag in them.
    """
    spoken = ThoughtFilter()
    return f"{spoken.add(reply)}{spoken.rest()}".strip()


def begins_thoughts(tag: str) -> bool | None:
    """Return True for a tag that begins thoughts, False for one that ends them, None
    for any other.
    """
    named = tag.lower()
    if named.startswith("<|channel|>"):
        return not named.removeprefix("<|channel|>").strip().startswith("final")
    if "think" in named and not named.startswith("<|"):
        return not named.startswith("</")
    return None


def readable(reply: str) -> str:
    """Return the reply without thoughts, cut to `MAX_READ_CHARACTERS`."""
    return without_thoughts(reply)[:MAX_READ_CHARACTERS]


class ThoughtFilter:
    """`without_thoughts` for a reply that is being written. Text before a closing tag
    that was never opened has been shown by then; only the finished text is without it.
    """

    def __init__(self) -> None:
        self._held_back = ""
        self._thinking = False
        self._shows_text = True

    def add(self, piece: str) -> str:
        """Return the visible text that ``piece`` adds. The beginning of what may become
        a tag is held back.
        """
        pieces = _TAG.split(self._held_back + piece)
        self._held_back = ""
        if match := _BEGUN_TAG.search(pieces[-1]):
            pieces[-1], self._held_back = pieces[-1][: match.start()], match[0]
        visible = ""
        for place, part in enumerate(pieces):
            if place % 2:
                if (begins := begins_thoughts(part)) is None:
                    continue
                if not (begins or self._thinking):
                    visible = ""
                self._thinking = begins
                self._shows_text = self._shows_text and begins
            elif not self._thinking:
                visible += part
        return self._without_leading_blanks(visible)

    def rest(self) -> str:
        """Return what was held back and became no tag."""
        rest = self._held_back
        self._held_back = ""
        return "" if self._thinking else self._without_leading_blanks(rest)

    def _without_leading_blanks(self, text: str) -> str:
        text = text if self._shows_text else text.lstrip()
        self._shows_text = self._shows_text or bool(text)
        return text

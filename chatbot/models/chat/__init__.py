"""Models that write the answer, named by settings as ``provider:model``; their shared
cache and daily budgets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...config.settings import Settings
from ...database.repositories.caches import CacheRepository
from ...database.repositories.usage import Counters, UsageRepository, seconds_to_reset
from ...domain import ChatModel, Delta, Prompt, RequestContext, Usage
from ...domain.documents import ATTACHMENTS
from ...domain.errors import BudgetExhaustedError, ChatModelError, read_table
from ...domain.registry import Registry
from ...domain.turns import current_turn
from ...language.counts import estimate_tokens_of
from ..caches import cache_key
from ..prompts import sealed, unmarked
from ..replies.stream import Reply

CHAT_MODELS: Registry[ChatModel] = Registry(
    "chat model",
    {
        "echo": "chatbot.models.chat:EchoChatModel",
        "extractive": "chatbot.models.chat.extractive",
        "openai": "chatbot.models.chat.openai",
    },
    group="chat_models",
)


MAX_CHARACTERS_PER_TOKEN = 32
"""More than any text has: a server that sends more ignores the limit of the answer, and
could fill the memory.
"""
THINKING_TOKENS = read_table(__package__, "thinking")


class EchoChatModel:
    """Implements `protocols.ChatModel` for tests: repeats the question and cites every
    passage.
    """

    model_id = "echo"
    is_language_model = False

    def __init__(self, *_: object, **__: object) -> None:
        """Accept and ignore the settings of other models."""

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield one piece per word, and the usage at the end."""
        numbers = "".join(f"[{passage.number}]" for passage in prompt.context.passages)
        words = f"You asked: {prompt.question} {numbers}".split(" ")
        for position, word in enumerate(words):
            if request.cancelled:
                return
            yield Delta(word if position == 0 else f" {word}")
        prompt_tokens = estimate_tokens_of(prompt.texts)
        yield Delta(usage=Usage(prompt_tokens, len(words), calls=1))


@dataclass(eq=False)
class ManagedChatModel:
    """Implements `protocols.ChatModel`: a language model behind the cache of replies
    (R-B10) and the budgets (R-D9). Only complete replies are stored. The call that
    crosses a limit of a day (UTC) is finished, the next is refused.

    A model that thinks gets room for it beyond the limit of an answer, and a second try
    with more where it has spent all of it before the first word.
    """

    inner: ChatModel
    settings: Settings
    cache: CacheRepository
    usage: UsageRepository
    counters: Counters
    is_language_model: bool = True
    _thinks: bool = field(default=False, init=False)
    """True once the model has shown that it thinks before it writes."""

    def __post_init__(self) -> None:
        self.model_id = self.inner.model_id

    @property
    def takes_tools(self) -> bool:
        """True if the model may be sent tools."""
        return bool(getattr(self.inner, "takes_tools", False))

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield the cached reply as one delta, without a call, else the model's reply.
        Replies on attachments are not cached (R-A1). Raises BudgetExhaustedError,
        ChatModelError.
        """
        if not request.cache or any(
            one.hit.chunk.collection == ATTACHMENTS for one in prompt.context.passages
        ):
            yield from self._counted(Reply(prompt), request)
            return
        messages = [
            [message.role, unmarked(message.content)] for message in prompt.messages
        ]
        parameters = (self.settings.temperature, float(self.settings.max_answer_tokens))
        key = cache_key(
            self.model_id, parameters, messages, prompt.json_schema, request.cached_for
        )
        if (text := self.cache.get("response", key, request=request)) is not None:
            yield Delta(text, Usage(cached_calls=1))
            return
        reply = Reply(prompt)
        yield from self._counted(reply, request)
        if not reply.truncated and not request.cancelled and reply.text:
            self.cache.put("response", key, reply.text)

    def _counted(self, reply: Reply, request: RequestContext) -> Iterator[Delta]:
        """Call the model, and count the tokens for the day, the caller and the question
        (R-C7).
        """
        who = request.caller
        limit = self.settings.daily_token_limit
        if limit is not None and (used := self.usage.today()) >= limit:
            raise BudgetExhaustedError(
                used=used, limit=limit, retry_after=seconds_to_reset()
            )
        if (
            who.daily_tokens is not None
            and (used := self.counters.tokens_today(who.account)) >= who.daily_tokens
        ):
            raise BudgetExhaustedError(
                used=used,
                limit=who.daily_tokens,
                retry_after=seconds_to_reset(),
                whose="Your",
            )
        failed = None
        most = self.settings.max_answer_tokens * reply.prompt.length
        left = MAX_CHARACTERS_PER_TOKEN * most
        try:
            for delta in self._deltas(reply, request):
                left -= len(delta.text)
                bounded = (
                    delta
                    if left >= 0
                    else replace(delta, text=delta.text[:left], truncated=True)
                )
                reply.add(bounded)
                yield bounded
                if left < 0:
                    return
        except ChatModelError as error:
            failed = error
            raise
        finally:  # also if the generator is closed in the middle
            usage = reply.usage_of_failed(failed) if failed else reply.usage
            request.meter.add(usage)
            self.usage.add(usage.tokens)
            if who.daily_tokens is not None:
                self.counters.add_tokens(who.account, usage.tokens)

    def _deltas(self, reply: Reply, request: RequestContext) -> Iterator[Delta]:
        """Yield what the model writes; ``reply`` has what was yielded so far."""
        prompt = reply.prompt
        prompt = replace(prompt, messages=sealed(prompt.messages, prompt.mark))
        room = THINKING_TOKENS["usual"] if self._thinks else 0
        spent = Usage()
        # From here on the question mostly waits for the model.
        current_turn.get().end()
        while True:
            used_up = False
            given = replace(prompt, thinking_tokens=room)
            for delta in self.inner.stream(given, request=request):
                self._thinks = self._thinks or delta.thinks
                usage = delta.usage
                if usage is not None:
                    usage += spent
                is_wordless = not (delta.text or reply.has_begun)
                used_up = used_up or (delta.truncated and is_wordless)
                truncated = delta.truncated and not is_wordless
                yield replace(delta, usage=usage, truncated=truncated)
            if not used_up or request.cancelled:
                return
            self._thinks = True
            if room == THINKING_TOKENS["most"] or not request.may_call():
                raise ChatModelError(
                    f"{self.model_id} reached the limit of an answer before its first "
                    "word: it may have spent it on thinking.",
                    remedy="Raise MAX_ANSWER_TOKENS.",
                    reason="empty",
                )
            spent = reply.usage
            room = THINKING_TOKENS["most"]

    def close(self) -> None:
        if close := getattr(self.inner, "close", None):
            close()

"""The tags around what is quoted in a prompt carry a mark that nobody can know; what is
not seen is taken out.
"""

import re
import unicodedata
from collections.abc import Iterator

from chatbot.app.services import Services
from chatbot.domain import Context, Delta, Message, Prompt, RequestContext
from chatbot.language.characters import visible
from chatbot.models.chat import ManagedChatModel
from chatbot.models.prompts import passage_fence, render, sealed

FENCE = re.compile(r'<passage-(\w{8}) number="1">\ntext\n</passage-\1>')


def mark_of(messages: tuple[Message, ...]) -> str:
    (mark,) = {found[1] for one in messages for found in FENCE.finditer(one.content)}
    return mark


def test_each_prompt_has_a_mark_of_its_own_which_its_rules_name() -> None:
    messages = [
        Message("system", render("relevance_system")),
        Message("user", passage_fence(1, "text")),
    ]
    sent = [sealed(messages) for _ in range(50)]
    assert len({mark_of(one) for one in sent}) == 50
    assert all(mark_of(one) in one[0].content for one in sent)


def test_no_prompt_that_is_sent_has_the_mark_of_the_process(services: Services) -> None:
    sent: list[Prompt] = []

    class Model:
        model_id, is_language_model = "test:model", True

        def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
            sent.append(prompt)
            yield Delta("yes")

    prompt = Prompt(
        (Message("user", f"{passage_fence(1, 'text')} a\U000e0041\u200bb"),),
        "q",
        Context(),
    )
    storage = services.storage
    managed = ManagedChatModel(
        Model(),
        services.settings,
        cache=storage.cache,
        usage=storage.usage,
        counters=storage.counters,
    )
    list(managed.stream(prompt, request=RequestContext()))
    assert mark_of(sent[0].messages) != mark_of(prompt.messages)
    assert sent[0].messages[0].content.endswith(" ab")


def test_nothing_that_is_not_seen_is_left() -> None:
    """By what Unicode says of each character, not by the list of the product."""
    every = map(chr, (*range(0xD800), *range(0xE000, 0xE1000)))
    left = visible("".join(every))
    # Marks of Arabic, Syriac and Kaithi are of the format category and seen.
    shown = re.compile(
        "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"
    )
    assert {
        c
        for c in left
        if unicodedata.category(c) in {"Cc", "Cf"} and not shown.match(c)
    } == {"\t", "\n", "\r"}
    for sign in "\u034f\u115f\u1160\u17b4\u180b\u2065\u2800\u3164\ufe0f\uffa0\ufff0\ufdd0\uffff\U000e0100\U000e0fff":  # noqa: E501
        assert sign not in left


def test_spelling_is_left_as_it_is_and_a_joiner_hides_nothing_in_other_scripts() -> (
    None
):
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    for text in (
        persian,
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
        "50 \u20ac\tna\u00efve\n\U0001f600",
    ):
        assert visible(text) == text
    assert visible("pass\u200dage \u0645\u200c.") == "passage \u0645."

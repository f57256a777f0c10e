"""A question inside a conversation: history, saving, cancelling."""

from dataclasses import replace

import pytest

from chatbot.answering.conversation import Place, Saved
from chatbot.app.services import Services, build
from chatbot.domain import Cancellation, Message, SourcesEvent, TokenEvent
from chatbot.domain.chat import QuerySettings
from chatbot.domain.errors import ChatModelError, NotFoundError, SettingsError
from tests.answering.modes.conftest import question
from tests.asking import in_conversation
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

pytestmark = pytest.mark.usefixtures("kenya")
QUERY = question().query


def ask(
    services: Services,
    query: str = QUERY,
    conversation_id: str | None = None,
    *previous: Message,
    settings: QuerySettings | None = None,
) -> Saved:
    last = services.chat.answer(
        replace(question(query), settings=settings),
        place=Place(conversation_id),
        previous_messages=previous,
        cancel=Cancellation(),
    )
    assert isinstance(last, Saved)
    return last


def sent(server: FakeOpenAI, call: int = -1) -> list[tuple[str, str]]:
    """What the model was sent between the rules and the question."""
    return [
        (m["role"], m["content"])
        for m in server.received(CHAT)[call].body["messages"][1:-1]
    ]


def texts(services: Services, saved: Saved) -> list[str]:
    return [
        message.content
        for message in services.storage.conversations.messages(saved.conversation_id)
    ]


def stored(services: Services, name: str) -> int:
    return services.storage.database[name].count({})


class TestSaving:
    def test_a_long_answer_does_not_hide_what_was_asked(self, services, server) -> None:
        server.chat(
            Reply(["It grows by 2.09% [1]. " * 1500]),
            Reply(["What is the growth rate of Mali?"]),
            Reply(["x"]),
        )
        first = ask(services)
        second = ask(services, "and Mali?", first.conversation_id)
        assert QUERY in server.received(CHAT)[1].body["messages"][-1]["content"]
        assert second.answer.trace.query == "What is the growth rate of Mali?"

    def test_an_unknown_conversation_is_not_found_before_anything_happens(
        self, services, server
    ) -> None:
        with pytest.raises(NotFoundError, match="'nope'"):
            ask(services, QUERY, "nope")
        assert server.requests == []
        assert stored(services, "conversations") == 0

    def test_a_failed_answer_is_not_saved(self, services, server) -> None:
        server.chat(Reply(["half"], ending="drop"))
        with pytest.raises(ChatModelError):
            ask(
                services,
                settings=QuerySettings(on_model_error="error", planner="rules"),
            )
        assert (stored(services, "conversations"), stored(services, "messages")) == (
            0,
            0,
        )


class TestCancelling:
    @pytest.mark.parametrize("after", [SourcesEvent, TokenEvent])
    def test_a_cancelled_answer_is_not_saved(self, services, server, after) -> None:
        server.chat(Reply(["half", " an", " answer"]))
        cancel = Cancellation()

        def watch(event: object) -> None:
            if isinstance(event, after):
                cancel.cancel()

        chat = services.chat
        seen = in_conversation(chat, question(), watch=watch, cancel=cancel)
        assert isinstance(seen[-1], after)
        assert (stored(services, "conversations"), stored(services, "messages")) == (
            0,
            0,
        )

    def test_a_cancelled_answer_leaves_the_conversation_as_it_was(
        self, services, server
    ) -> None:
        server.chat(Reply(["One."]), Reply(["half", " two"]))
        first = ask(services)
        cancel = Cancellation()
        place = Place(first.conversation_id)

        def send(event: object) -> None:
            if isinstance(event, TokenEvent):
                cancel.cancel()

        chat = services.chat
        chat.answer(question("And?"), send=send, place=place, cancel=cancel)
        assert texts(services, first) == [QUERY, "One."]


class TestHistory:
    def test_the_stored_messages_are_in_the_prompt_oldest_first(
        self, services, server
    ) -> None:
        server.chat(Reply(["It is 2.09% [1]."]))
        first = ask(services)
        ask(services, "And why?", first.conversation_id)
        assert sent(server) == [("user", QUERY), ("assistant", "It is 2.09%.")]

    def test_what_the_client_sends_wins_over_what_is_stored(
        self, services, server
    ) -> None:
        first = ask(services)
        ask(
            services,
            "And why?",
            first.conversation_id,
            Message("user", "Mine"),
            Message("assistant", "Yours"),
        )
        assert sent(server) == [("user", "Mine"), ("assistant", "Yours")]

    @pytest.mark.parametrize(
        ("previous", "kept"),
        [
            ([("user", "Before"), ("user", QUERY)], [("user", "Before")]),
            ([("user", f" {QUERY}\n")], []),
            (
                [("user", QUERY), ("assistant", QUERY)],
                [("user", QUERY), ("assistant", QUERY)],
            ),
            (
                [("user", "Before"), ("assistant", "Error: no model.")],
                [("user", "Before")],
            ),
        ],
        ids=[
            "the question again",
            "white space",
            "only the last and only a user's",
            "an error",
        ],
    )
    def test_the_question_itself_and_errors_are_dropped(
        self, services, server, previous, kept
    ) -> None:
        """R-D8: the seed's clients send the question twice."""
        ask(
            services,
            QUERY,
            None,
            *(Message(role, content) for role, content in previous),
        )
        assert sent(server) == kept

    def test_other_conversations_stay_out(self, services, server) -> None:
        ask(services, "Something else entirely?")
        ask(services)
        assert sent(server) == []

    def test_the_history_is_bounded_in_turns_and_tokens(self, services, server) -> None:
        many = [
            Message("user" if n % 2 == 0 else "assistant", f"{n} {'word ' * 200}")
            for n in range(40)
        ]
        ask(services, QUERY, None, *many)
        kept = [int(content.split()[0]) for _, content in sent(server)]
        assert kept == list(range(40 - len(kept), 40))
        assert 1 < len(kept) < 10


class TestCondensing:
    def test_the_condensed_question_is_searched_and_shown_and_the_own_words_are_answered(  # noqa: E501
        self, services, server
    ) -> None:
        server.chat(
            Reply(["It has 2.09% [1]."]),
            Reply(["What is the location of Kenya?"]),
            Reply(["Africa [1]."]),
        )
        first = ask(services, "What is the population growth rate of Kenya?")
        answer = ask(services, "and where is it?", first.conversation_id).answer
        assert answer.trace.query == "What is the location of Kenya?"
        assert answer.trace.hits[0].chunk.section.endswith("Location")
        assert answer.trace.steps[0].name == "condense_model"
        assert answer.trace.usage.calls == 2
        assert (
            server.received(CHAT)[-1]
            .body["messages"][-1]["content"]
            .endswith(
                "Question: and where is it?\nIn full: What is the location of Kenya?"
            )
        )
        assert (
            services.storage.conversations.messages(first.conversation_id)[2].content
            == "and where is it?"
        )

    def test_by_rule_it_costs_no_call(self, services, server) -> None:
        with build(services.settings.override(chat_model="extractive")) as quoting:
            previous = Message("user", "What is the population growth rate of Kenya?")
            saved = ask(quoting, "and the growth?", None, previous)
        assert saved.answer.trace.query == "and the growth? (population rate in Kenya)"
        assert saved.answer.trace.steps[0].name == "condense_rule"
        assert server.requests == []

    def test_a_first_question_is_left_alone(self, services, server) -> None:
        answer = ask(services, "and the location?").answer
        assert answer.trace.query == "and the location?"
        assert not any(step.name.startswith("condense") for step in answer.trace.steps)
        assert server.calls(CHAT) == 1


class TestSmallModel:
    def test_the_small_model_completes_a_follow_up_and_plans_and_the_other_writes(
        self, services, server
    ) -> None:
        server.chat(
            Reply(["One [1]."]),
            Reply(["Why does Kenya's population grow?"]),
            Reply(["Two [1]."]),
        )
        small = services.settings.override(
            chat_model="openai:large", chat_model_small="openai:small"
        )
        with build(small) as two:
            first = ask(two)
            ask(two, "And why?", first.conversation_id)
        assert [request.body["model"] for request in server.received(CHAT)] == [
            "large",
            "small",
            "large",
        ]

    def test_a_small_model_that_writes_nothing_is_refused(self, services) -> None:
        with (
            build(services.settings.override(chat_model_small="extractive")) as wrong,
            pytest.raises(SettingsError, match="must both be language models"),
        ):
            ask(wrong)

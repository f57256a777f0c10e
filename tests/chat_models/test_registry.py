"""R-A5 for chat models: an unknown name lists the valid ones."""

from __future__ import annotations

import pytest

from chatbot.chat_models import CHAT_MODELS
from chatbot.errors import UnknownNameError
from chatbot.settings import Settings


def test_the_names() -> None:
    assert CHAT_MODELS.names() == ["echo", "extractive", "openai"]


@pytest.mark.parametrize(("name", "model_id"), [("echo", "echo"), ("extractive", "extractive")])
def test_a_name_builds_its_model(name: str, model_id: str) -> None:
    assert CHAT_MODELS.builder(name)(Settings(), model="").model_id == model_id


@pytest.mark.parametrize("name", ["gpt-4o", "", "Echo", "../echo", "os"])
def test_an_unknown_name_lists_the_valid_ones(name: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        CHAT_MODELS.builder(name)
    assert f"{name!r} is not a valid chat model. Valid: echo, extractive, openai." in raised.value.message
    assert raised.value.details[0]["valid_values"] == ["echo", "extractive", "openai"]

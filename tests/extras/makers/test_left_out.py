"""Without the extra, its models are named with the setting that leaves it out."""

from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.domain.errors import UnknownNameError
from tests.conftest import small_settings


@pytest.mark.parametrize(
    ("setting", "value", "kind"),
    [
        ("chat_model", "anthropic:claude", "chat model 'anthropic'"),
        ("chat_model_small", "google:gemini", "chat model 'google'"),
        ("embedding_provider", "cohere", "embedding provider 'cohere'"),
    ],
)
def test_a_model_of_a_maker_stops_the_start_with_the_extra_that_has_it(
    setting: str, value: str, kind: str, tmp_path: Path
) -> None:
    chosen = {"chat_model": "echo", setting: value}
    settings = small_settings(tmp_path, extras="none", **chosen)
    message = (
        f"{setting.upper()}: EXTRAS leaves out the extra 'makers', which has the "
        f"{kind}. Add makers to EXTRAS."
    )
    with build(settings) as services, pytest.raises(UnknownNameError) as raised:
        services.check()
    assert raised.value.message == message


def test_an_unknown_model_is_refused_with_the_names_of_the_extra_too(
    tmp_path: Path,
) -> None:
    settings = small_settings(tmp_path, chat_model="antropic:claude")
    with build(settings) as services, pytest.raises(UnknownNameError) as raised:
        services.check()
    valid = "Valid: anthropic, bedrock, echo, extractive, google, openai."
    assert valid in raised.value.message

"""The same services as the agents' tests."""

from tests.answering.modes.conftest import settings

__all__ = ["settings"]

"""The same services as the agents' tests."""

from tests.answering.agents.conftest import settings

__all__ = ["settings"]

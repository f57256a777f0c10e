"""The same services as the agents' tests."""

from tests.answering.agents.conftest import server, settings

__all__ = ["server", "settings"]

"""Ways to answer a question; the request's ``mode`` names one."""

from ..protocols import Agent
from ..registry import Registry

AGENTS: Registry[Agent] = Registry("mode", {"direct": "chatbot.agents.direct"})

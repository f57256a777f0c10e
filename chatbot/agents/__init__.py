"""Ways to answer a question; the request's ``mode`` names one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import Registry

if TYPE_CHECKING:
    from .run import BaseAgent

AGENTS: Registry[BaseAgent] = Registry(
    "mode",
    {
        "auto": "chatbot.agents.auto",
        "chain": "chatbot.agents.chain",
        "compare": "chatbot.agents.compare",
        "deep": "chatbot.agents.deep",
        "direct": "chatbot.agents.direct",
        "report": "chatbot.agents.report",
    },
)
DEFAULT = "direct"
CHOOSES = "auto"

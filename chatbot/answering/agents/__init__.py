"""Ways to answer a question; the request's ``mode`` names one."""

from typing import TYPE_CHECKING

from ...domain.registry import Registry

if TYPE_CHECKING:
    from .run import BaseAgent

AGENTS: "Registry[BaseAgent]" = Registry(
    "mode",
    {
        "auto": "chatbot.answering.agents.auto",
        "chain": "chatbot.answering.agents.chain",
        "compare": "chatbot.answering.agents.compare",
        "deep": "chatbot.answering.agents.deep",
        "direct": "chatbot.answering.agents.direct",
        "report": "chatbot.answering.agents.report",
    },
    group="agents",
)
DEFAULT = "direct"
CHOOSES = "auto"

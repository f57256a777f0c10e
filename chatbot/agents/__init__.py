"""Ways to answer a question; the request's ``mode`` names one."""

from ..protocols import Agent
from ..registry import Registry

AGENTS: Registry[Agent] = Registry(
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

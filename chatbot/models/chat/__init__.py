"""Models that write the answer. A setting names one as ``provider:model``."""

from ...config.registry import Registry
from ...domain.protocols import ChatModel

CHAT_MODELS: Registry[ChatModel] = Registry(
    "chat model",
    {
        "echo": "chatbot.models.chat.echo",
        "extractive": "chatbot.models.chat.extractive",
        "openai": "chatbot.models.chat.openai",
    },
)

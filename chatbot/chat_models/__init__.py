"""Models that write the answer. A setting names one as ``provider:model``."""

from ..protocols import ChatModel
from ..registry import Registry

CHAT_MODELS: Registry[ChatModel] = Registry(
    "chat model",
    {
        "echo": "chatbot.chat_models.echo",
        "extractive": "chatbot.chat_models.extractive",
        "openai": "chatbot.chat_models.openai",
    },
)

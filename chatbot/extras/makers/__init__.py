"""Models of makers with an API of their own, by Mozilla's any-llm."""

from .. import Extra

CHAT_MODELS = {
    "anthropic": "chatbot.extras.makers.chat:anthropic",
    "bedrock": "chatbot.extras.makers.chat:bedrock",
    "google": "chatbot.extras.makers.chat:google",
}
EMBEDDERS = {
    "bedrock": "chatbot.extras.makers.embed:bedrock",
    "cohere": "chatbot.extras.makers.embed:cohere",
    "google_genai": "chatbot.extras.makers.embed:google_genai",
    "google_vertexai": "chatbot.extras.makers.embed:google_vertexai",
}


def build() -> Extra:
    return Extra(
        name="makers",
        settings=("chat_api_key", "chat_base_url"),
        adapters={"chat_models": CHAT_MODELS, "embedders": EMBEDDERS},
    )

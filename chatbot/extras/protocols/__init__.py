"""Other ways to ask: the Model Context Protocol for agents, and OpenAI's protocol for
chat front ends.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="protocols",
        blueprints=(
            "chatbot.extras.protocols.openai_protocol:openai_protocol",
            "chatbot.extras.protocols.mcp_over_http:mcp",
        ),
        commands={
            "mcp": (
                "chatbot.extras.protocols.commands:mcp",
                "Serve agents over stdin and stdout (Model Context Protocol).",
            ),
        },
    )

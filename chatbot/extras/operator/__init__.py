"""What an administrator looks after: the page `/operator`, keys, usage, metrics, stored
conversations and the audit log.
"""

from .. import Extra


def build() -> Extra:
    commands = "chatbot.extras.operator.commands"
    return Extra(
        name="operator",
        blueprints=(
            "chatbot.extras.operator.routes:operator",
            "chatbot.extras.operator.metrics:metrics",
        ),
        commands={
            "audit": (f"{commands}:audit", "Show who changed what, the newest first."),
            "conversations": (
                f"{commands}:conversations",
                "The stored conversations: list, delete.",
            ),
            "usage": (
                f"{commands}:usage",
                "Show questions, calls, tokens and costs by day (UTC); runs,...",
            ),
        },
    )

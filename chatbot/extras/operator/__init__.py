"""What an administrator looks after: the page `/operator`, keys, usage, metrics, the
check of the installation, stored conversations and the audit log.
"""

from .. import Extra


def build() -> Extra:
    commands = "chatbot.extras.operator.commands"
    return Extra(
        name="operator",
        settings=("traces",),
        observer="chatbot.extras.operator.observing:observer_of",
        verify=("chatbot.extras.operator.observing:verify",),
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
            "doctor": (
                f"{commands}:doctor",
                "Check keys, server, collections, indexes and models; exit status...",
            ),
            "feedback": (
                "chatbot.extras.operator.feedback:feedback",
                "Export people's verdicts on answers.",
            ),
            "glossary": (
                "chatbot.extras.operator.glossary:glossary",
                "The terms of the library: import, export, clear.",
            ),
            "groups": (
                "chatbot.extras.operator.groups:groups",
                "Groups of countries: import, export, clear.",
            ),
            "usage": (
                f"{commands}:usage",
                "Show questions, calls, tokens and costs by day (UTC); runs,...",
            ),
        },
    )

"""Web hooks: other programs are told what happened, at least once, signed as Standard
Webhooks has it.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="hooks",
        commands={
            "hooks": (
                "chatbot.extras.hooks.commands:hooks",
                "Addresses that are told what happens: add, list, remove.",
            ),
        },
        background={"hooks": "chatbot.extras.hooks.relay:run"},
    )

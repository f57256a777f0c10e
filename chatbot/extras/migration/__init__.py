"""What moves or changes all that is stored: to another engine, or to another embedding
model.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="migration",
        commands={
            "copy": (
                "chatbot.extras.migration.commands:copy",
                "Copy reports, passages, vectors and conversations between the...",
            ),
            "reembed": (
                "chatbot.extras.migration.commands:reembed",
                "Embed all passages with another model, then switch to it.",
            ),
        },
    )

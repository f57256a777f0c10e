"""What moves or changes all that is stored: into a backup and back, to another engine,
to another embedding model, from the form of an older system.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="migration",
        commands={
            "backup": (
                "chatbot.extras.migration.commands:backup",
                "Copy the embedded database into a file; restore it from one.",
            ),
            "copy": (
                "chatbot.extras.migration.commands:copy",
                "Copy reports, passages, vectors and conversations between the...",
            ),
            "migrate": (
                "chatbot.extras.migration.commands:migrate",
                "Bring the schema up to date and mend rows of an older system.",
            ),
            "reembed": (
                "chatbot.extras.migration.commands:reembed",
                "Embed all passages with another model, then switch to it.",
            ),
        },
    )

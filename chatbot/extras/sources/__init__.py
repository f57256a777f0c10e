"""A library that keeps itself current with folders, web pages and buckets."""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="sources",
        settings=("sources", "sync_every"),
        blueprints=("chatbot.extras.sources.pages:sources",),
        commands={
            "sync": (
                "chatbot.extras.sources.commands:sync",
                "Keep the library as the folders, web pages and buckets of...",
            ),
        },
        verify=("chatbot.extras.sources.running:verify",),
        background={"sync": "chatbot.extras.sources.running:follow"},
    )

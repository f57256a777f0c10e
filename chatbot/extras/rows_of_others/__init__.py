"""Collections of LangChain, LlamaIndex, Haystack and others: read in place, or
imported.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="rows_of_others",
        settings=("schema",),
        rows="chatbot.extras.rows_of_others.layouts:rows_of",
        commands={
            "import": (
                "chatbot.extras.rows_of_others.commands:import_",
                "Import a collection of another program with its vectors.",
            ),
        },
    )

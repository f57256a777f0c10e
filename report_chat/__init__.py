"""Ask your reports from Python: `docs/python.md`.

with open_library("data") as library:
    print(library.ask("How many people live in Kenya?").response)
"""

from chatbot.app.open_library import OpenLibrary, open_library

__all__ = ["OpenLibrary", "open_library"]

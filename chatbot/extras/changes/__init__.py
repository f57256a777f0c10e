"""What changed when reports arrived: a page, a feed and their part of the API."""

from .. import Extra


def build() -> Extra:
    return Extra(name="changes", blueprints=("chatbot.extras.changes.pages:changes",))

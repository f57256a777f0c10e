"""The description of the API, made of what the views state, and a page that leads to
it.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="openapi", blueprints=("chatbot.extras.openapi.description:openapi",)
    )

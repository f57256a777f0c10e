"""`Idempotency-Key`: a POST that is sent again is answered as before, and not done
again.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="idempotency",
        blueprints=("chatbot.extras.idempotency.requests:idempotency",),
        request_headers=("chatbot.extras.idempotency.requests:header_of",),
    )

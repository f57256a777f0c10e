"""People who sign in with an identity provider or by headers of a trusted proxy, and
their groups.
"""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="sign_in",
        settings=(
            "sign_in_groups",
            "sign_in_headers",
            "oidc_issuer",
            "oidc_client_id",
            "oidc_client_secret",
            "oidc_groups_claim",
        ),
        blueprints=("chatbot.extras.sign_in.pages:sign_in",),
        people="chatbot.extras.sign_in.people:people_of",
        verify=("chatbot.extras.sign_in.people:verify",),
        doctor=("chatbot.extras.sign_in.people:check_access",),
    )

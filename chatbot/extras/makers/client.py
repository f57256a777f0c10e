"""Clients of Mozilla's any-llm, which speaks to providers by their official SDKs
(`requirements-providers.txt`). The SDKs of Google Cloud and AWS find their credentials
themselves.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from http import HTTPStatus
from importlib import import_module
from typing import Any, TypeVar

from ...config.settings import Settings
from ...domain.errors import (
    ChatModelError,
    EmbeddingError,
    MissingPackageError,
    SettingsError,
)
from ...domain.packages import install_command
from ...models.openai_client import REFUSED, status_error, words_of

T = TypeVar("T")
E = TypeVar("E", bound=EmbeddingError | ChatModelError)
NAMES = {"google": "gemini", "google_genai": "gemini", "google_vertexai": "vertexai"}
"""The library's names of providers, where ours are others."""
INSTALL = f"Install it: {install_command('providers')}"
_NETWORK_ERROR = re.compile(
    "Connect|Timeout|Transport|Protocol|Disconnect|Read|Network"
)
"""Parts of the names of SDK errors that mean a failing network."""


class EventLoop:
    """An event loop in a thread of its own, in which the SDKs' requests run.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="any-llm", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """End the loop once its work lets it. The SDKs' connections end with the
        process.
        """
        self._loop.call_soon_threadsafe(self._loop.stop)

    def close(self) -> None:
        """End the loop, and wait for that; once more does nothing, as of a model that
        is the small one, too.
        """
        if self._thread.is_alive():
            self.stop()
            self._thread.join()


def any_llm_client(
    settings: Settings,
    provider: str,
    *,
    key: str | None,
    base_url: str | None,
    setting: str,
) -> Any:
    """Return the library's client of a provider, without sending anything. ``setting``:
    EMBEDDING or CHAT, for errors. Raises MissingPackageError: any-llm or the provider's
    SDK; SettingsError: a setting is missing or wrong.
    """
    name = NAMES.get(provider, provider)
    try:
        library = import_module("any_llm")
        errors = import_module("any_llm.exceptions")
        options = _options(settings, name, base_url, setting)
        client = library.AnyLLM.create(
            name, api_key=key, unified_exceptions=True, **options
        )
    except ImportError as error:
        raise MissingPackageError(
            (
                f"The provider {provider!r} needs the Python package any-llm-sdk, with "
                "its SDK."
            ),
            remedy=INSTALL,
        ) from error
    except errors.AnyLLMError as error:
        raise SettingsError(
            f"The provider {provider} cannot be used: {error.message[:300]}"
        ) from error
    # It warns of every call to Bedrock that boto is not asynchronous.
    logging.getLogger("any_llm").setLevel(logging.ERROR)
    return client


def _options(
    settings: Settings, name: str, base_url: str | None, setting: str
) -> dict[str, Any]:
    """Return the address, the time-out and the retries as the SDKs name them."""
    seconds = settings.model_timeout
    retries = settings.model_retries
    if name == "bedrock":
        config = import_module("botocore.config").Config(
            read_timeout=seconds,
            connect_timeout=seconds,
            retries={"total_max_attempts": retries + 1},
        )
        return {"api_base": base_url, "config": config}
    options: dict[str, Any] = {"timeout": seconds, "max_retries": retries}
    if name == "vertexai":
        if base_url:
            raise SettingsError(
                f"{setting}_BASE_URL is not for google_vertexai: set "
                "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION."
            )
        return options
    return {**options, "base_url" if name == "cohere" else "api_base": base_url}


def sdk_error(kind: type[E], error: Any, model: str, *, setting: str) -> E:
    """Return the SDK's error as ours, by its status; without one the network failed, or
    there are no credentials.
    """
    reason = words_of(error.message)
    cause = error.original_exception
    status = error.status_code
    response = getattr(cause, "response", None)
    if status is None and isinstance(
        response, dict
    ):  # boto's, which the library does not read
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if (
        status in REFUSED and type(error).__name__ == "AuthenticationError"
    ):  # Google sends a 400 for a wrong key
        status = 401
    if status is not None:
        check_key = (
            f"Check {setting}_API_KEY, or the account that the provider's SDK finds."
        )
        check_model = f"Check {setting}_MODEL and {setting}_BASE_URL."
        # Bedrock's 400 for an unknown model, too
        refused = f"The log has its reason. {check_model}"
        return status_error(
            kind,
            model,
            status,
            reason,
            check_key=check_key,
            check_model=check_model,
            refused=refused,
            lacks_credit=status == HTTPStatus.PAYMENT_REQUIRED
            or type(error).__name__ == "InsufficientFundsError",
        )
    if _NETWORK_ERROR.search(type(cause).__name__):
        message = f"The endpoint of {model} cannot be reached ({type(cause).__name__})."
        return kind(
            message, remedy=f"Check the network and {setting}_BASE_URL.", retry_after=5
        )
    return kind(
        f"The provider's SDK cannot ask {model}.",
        remedy="The log has its reason.",
        said=reason,
    )

"""The ways in which servers that speak OpenAI's API fail, 26 of them, each with the
description or the source that its reply follows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from chatbot.domain.errors import Fault
from tests.fakes.openai_replies import Reply

OPENAI = "https://developers.openai.com/docs/guides/error-codes"
AZURE = "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter"
WORDS = ("The population", " grows by 2.09% [1]")
SILENCE = 30.0
"""Seconds of a server that says nothing; its client gives up long before."""


@dataclass(frozen=True)
class Kind:
    """A fault, what the program calls it, and where its body comes from."""

    reply: Reply
    reason: Fault
    source: str
    retry_after: int | None = None
    begins: bool = False
    """True if words were sent before."""


def _error(
    status: int, message: str, code: object = None, kind: str = "", **headers: str
) -> Reply:
    """OpenAI's error object."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, error=error, headers=named)


def _whole(finish_reason: str, **message: object) -> Reply:
    """One object in place of a stream."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish_reason,
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return Reply(body={"choices": [choice], "usage": usage})


KINDS: Mapping[str, Kind] = {
    "401 wrong key": Kind(
        _error(401, "Incorrect API key provided.", "invalid_api_key"),
        "key_refused",
        OPENAI,
    ),
    "403 country": Kind(
        _error(
            403,
            "Country, region, or territory not supported",
            "unsupported_country_region_territory",
            "request_forbidden",
        ),
        "key_refused",
        OPENAI,
    ),
    "404 model": Kind(
        _error(404, "The model `m` does not exist.", "model_not_found"),
        "unknown_model",
        OPENAI,
    ),
    "404 deployment": Kind(
        Reply(
            status=404,
            body={
                "error": {
                    "code": "DeploymentNotFound",
                    "message": "The API deployment for this resource does not exist.",
                }
            },
        ),
        "unknown_model",
        "https://learn.microsoft.com/azure/ai-foundry/openai/how-to/quota",
    ),
    "429 with Retry-After": Kind(
        _error(429, "Rate limit reached", "rate_limit_exceeded", Retry_After="7"),
        "rate_limited",
        OPENAI,
        retry_after=7,
    ),
    "429 without": Kind(
        _error(429, "Rate limit reached", "rate_limit_exceeded"),
        "rate_limited",
        OPENAI,
        retry_after=20,
    ),
    "429 no credit": Kind(
        _error(
            429,
            "You exceeded your current quota, please check your plan.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        "quota_used_up",
        OPENAI,
    ),
    "402 balance": Kind(
        _error(402, "Insufficient Balance", "invalid_request_error"),
        "quota_used_up",
        "https://api-docs.deepseek.com/quick_start/error_codes",
    ),
    "500": Kind(
        _error(500, "The server had an error", kind="server_error"),
        "failed",
        OPENAI,
        retry_after=5,
    ),
    "502 a page": Kind(
        Reply(status=502, body="<html><h1>502 Bad Gateway</h1>nginx</html>"),
        "failed",
        "https://github.com/nginx/nginx, ngx_http_special_response.c",
        retry_after=5,
    ),
    "529 overloaded": Kind(
        Reply(
            status=529,
            body={
                "type": "error",
                "error": {"type": "overloaded_error", "message": "Overloaded"},
            },
        ),
        "failed",
        "https://docs.llmgateway.io/troubleshooting/anthropic-529-overloaded",
        retry_after=5,
    ),
    "400 unknown role": Kind(
        Reply(
            status=400,
            body={
                "object": "error",
                "message": "Unexpected message role.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
        ),
        "refused",
        "https://github.com/vllm-project/vllm/issues/4667 (the shape of an error)",
    ),
    "silent": Kind(
        Reply(silent_before=SILENCE),
        "timeout",
        "a server under load: no byte at all",
        retry_after=5,
    ),
    "silent after the head": Kind(
        Reply([], silent_after=SILENCE),
        "timeout",
        "a server that sends its head before the model works (vLLM, llama.cpp)",
        retry_after=5,
    ),
    "silent after words": Kind(
        Reply(WORDS, silent_after=SILENCE),
        "timeout",
        "the same, in the middle",
        retry_after=5,
        begins=True,
    ),
    "cut before words": Kind(
        Reply([], ending="drop"),
        "broken_off",
        "https://github.com/anomalyco/opencode/pull/40061 (a stream without its end)",
        retry_after=5,
    ),
    "cut after words": Kind(
        Reply(WORDS, ending="drop"),
        "broken_off",
        "the same, in the middle",
        retry_after=5,
        begins=True,
    ),
    "an error in the stream": Kind(
        Reply(
            WORDS,
            ending="error",
            error={"code": 502, "message": "Provider disconnected"},
        ),
        "broken_off",
        "https://openrouter.ai/docs/api_reference/streaming",
        retry_after=5,
        begins=True,
    ),
    "an error as a 200": Kind(
        Reply(body={"error": {"code": 502, "message": "Your chosen model is down"}}),
        "broken_off",
        "https://openrouter.ai/docs/errors",
        retry_after=5,
    ),
    "no JSON": Kind(
        Reply(raw=b"data: <html>Sign in</html>\n\n"),
        "failed",
        "a proxy that asks for a login in the middle of a stream",
        retry_after=5,
    ),
    "empty": Kind(
        Reply([]), "empty", "https://github.com/ggml-org/llama.cpp (tools/server)"
    ),
    "only thinking": Kind(
        Reply([], finish_reason="length", completion_tokens=1024),
        "empty",
        "https://developers.openai.com/docs/guides/reasoning (allocating space)",
    ),
    "a refusal": Kind(
        _whole("stop", refusal="I cannot help with that."),
        "refused",
        "https://developers.openai.com/docs/guides/structured-outputs (refusals)",
    ),
    "filtered answer": Kind(
        Reply([], finish_reason="content_filter"), "content_filter", AZURE
    ),
    "filtered prompt": Kind(
        Reply(
            status=400,
            body={
                "error": {
                    "code": "content_filter",
                    "message": "The response was filtered.",
                    "status": 400,
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
        ),
        "content_filter",
        AZURE,
    ),
    "too long": Kind(
        _error(
            400,
            "This model's maximum context length is 4097 tokens.",
            "context_length_exceeded",
            "invalid_request_error",
        ),
        "context_too_long",
        "https://github.com/rahul2002m/ChatPDF/issues/6 (OpenAI's words)",
    ),
}

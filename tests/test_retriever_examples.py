"""The retrievers of docs/examples over the running server, where LangChain and LlamaIndex are installed."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx2
import pytest

from chatbot.app.factory import close_app, create_app
from chatbot.config.settings import Settings
from tests.app.web.knowledge import ended, upload
from tests.app.web.live import served
from tests.conftest import KENYA_2023

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    app = create_app(
        Settings(data_dir=tmp_path, embedding_provider="hashing", chat_model="echo", sample_data="off", summaries="off")
    )
    client = app.test_client()
    ended(client, upload(client, ("kenya.md", KENYA_2023), country_name="Kenya", year="2023"))
    ended(client, upload(client, ("mali.md", KENYA_2023.replace("Kenya", "Mali")), country_name="Mali", year="2023"))
    with served(app) as port:
        monkeypatch.setenv("REPORT_CHAT", f"http://127.0.0.1:{port}")
        yield
    close_app(app)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_langchain_finds_passages_of_the_scope_only() -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    retriever = example("langchain_retriever").ReportRetriever(country="Kenya", year=2023)
    found = retriever.invoke("population growth rate")
    assert {document.metadata["country_name"] for document in found} == {"Kenya"}
    assert any("Population growth rate\n2.09%" in document.page_content for document in found)
    assert asyncio.run(retriever.ainvoke("population growth rate")) == found
    retriever.country = "Atlantis"
    with pytest.raises(httpx2.HTTPStatusError, match="400"):
        retriever.invoke("population growth rate")


def test_llamaindex_finds_passages_of_the_scope_only() -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    retriever = example("llamaindex_retriever").ReportRetriever(country="Kenya", limit=2)
    found = retriever.retrieve("population growth rate")
    assert {node.node.metadata["country_name"] for node in found} == {"Kenya"}
    assert len(found) <= 2
    again = asyncio.run(retriever.aretrieve("population growth rate"))
    assert [node.node_id for node in again] == [node.node_id for node in found]

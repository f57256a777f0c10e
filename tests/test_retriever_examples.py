"""The retrievers of docs/examples over the running server, where LangChain and
LlamaIndex are installed.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx2
import pytest

from tests.app.web.knowledge import ended, upload
from tests.app.web.live import application, served
from tests.conftest import KENYA_2023, run_async, small_settings

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with (
        application(small_settings(tmp_path, chat_model="echo")) as app,
        served(app) as port,
    ):
        for country in ("Kenya", "Mali"):
            file = f"{country}.md", KENYA_2023.replace("Kenya", country)
            ended(
                client := app.test_client(),
                upload(client, file, country_name=country, year="2023"),
            )
        monkeypatch.setenv("REPORT_CHAT", f"http://127.0.0.1:{port}")
        yield


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_langchain_finds_passages_of_the_scope_only() -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    retriever = example("langchain_retriever").ReportRetriever(
        country="Kenya", year=2023
    )
    found = retriever.invoke("population growth rate")
    assert {document.metadata["country_name"] for document in found} == {"Kenya"}
    assert any(
        "Population growth rate\n2.09%" in document.page_content for document in found
    )
    assert run_async(retriever.ainvoke("population growth rate")) == found
    retriever.country = "Atlantis"
    with pytest.raises(httpx2.HTTPStatusError, match="400"):
        retriever.invoke("population growth rate")


def test_llamaindex_finds_passages_of_the_scope_only() -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    retriever = example("llamaindex_retriever").ReportRetriever(
        country="Kenya", limit=2
    )
    found = retriever.retrieve("population growth rate")
    assert {node.node.metadata["country_name"] for node in found} == {"Kenya"}
    assert len(found) <= 2
    again = run_async(retriever.aretrieve("population growth rate"))
    assert [node.node_id for node in again] == [node.node_id for node in found]

"""The official SDK's client against both transports, and an agent that compares two
countries over them.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from mcp import Client, MCPError, StdioServerParameters

from chatbot.domain import Cancellation, Scope
from chatbot.domain.callers import ANYBODY
from chatbot.extras.protocols.toolbox import TOOLS, Scoped, Toolbox
from tests.app.web.knowledge import added
from tests.app.web.live import application, served
from tests.conftest import run_async, small_settings
from tests.data import cases

CASES = cases(__file__)
RATES = {
    ("Kenya", 2021): 7.6,
    ("Kenya", 2023): 5.4,
    ("Somalia", 2021): 3.3,
    ("Somalia", 2023): 4.2,
}
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[Flask]:
    with application(small_settings(folder)) as made:
        for country in ("Kenya", "Somalia"):
            rows = "\n".join(
                f"{rate}% ({year} est.)\n"
                for (name, year), rate in RATES.items()
                if name == country
            )
            text = (
                f"# {country}: Country Report 2024\n\n## Economy\n\n### Real GDP "
                f"growth rate\n\n{rows}"
            )
            added(
                made.test_client(),
                (f"{country}-2024.md", text),
                country_name=country,
                year="2024",
            )
        yield made


@pytest.fixture(scope="module", params=["http", "stdio"])
def server(request: pytest.FixtureRequest, app: Flask, folder: Path) -> Iterator[Any]:
    if request.param == "stdio":
        own = {
            "DATA_DIR": str(folder),
            "EMBEDDING_PROVIDER": "hashing",
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
        }
        yield StdioServerParameters(
            command=sys.executable,
            args=["-m", "chatbot", "mcp"],
            cwd=str(ROOT),
            env={**os.environ, **own},
        )
        return
    with served(app) as port:
        yield f"http://127.0.0.1:{port}/mcp"


async def all_that_there_is(client: Client) -> None:
    assert client.protocol_version == "2026-07-28"
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == list(TOOLS)
    assert all(tool.input_schema["type"] == "object" for tool in tools)
    assert all(tool.title and tool.output_schema for tool in tools)
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["ask", "compare", "briefing"]
    for prompt in prompts:
        given = {one.name: "{Kenya}" for one in prompt.arguments or ()}
        (message,) = (await client.get_prompt(prompt.name, given)).messages
        assert "{Kenya}" in message.content.text
        with pytest.raises(MCPError, match="an argument is missing"):
            await client.get_prompt(prompt.name, {})
    facets = (await client.call_tool("facets", {})).structured_content
    assert [one["value"] for one in facets["country_name"]] == ["Kenya", "Somalia"]
    reports = (
        await client.call_tool("list_reports", {"country_name": ["Kenya"]})
    ).structured_content
    assert reports["total"] == 1
    hits = (
        await client.call_tool(
            "search", {"query": "growth rate", "country_name": ["Kenya"]}
        )
    ).structured_content
    chunk_id = hits["hits"][0]["chunk_id"]
    passage = (
        await client.call_tool("read_passage", {"chunk_id": chunk_id})
    ).structured_content
    assert "7.6% (2021 est.)" in passage["wider_text"]
    (listed, *_), templates = (
        (await client.list_resources()).resources,
        await client.list_resource_templates(),
    )
    assert [one.uri_template for one in templates.resource_templates] == [
        "report://{document_id}",
        "passage://{chunk_id}",
    ]
    for uri in (str(listed.uri), f"passage://{chunk_id}"):
        (content,) = (await client.read_resource(uri)).contents
        assert "GDP growth rate" in content.text or "7.6%" in content.text  # type: ignore[union-attr]


async def what_is_wrong_is_said_so_that_an_agent_can_mend_it(client: Client) -> None:
    said = []
    for name, arguments in CASES["what is wrong is said"]:
        found = await client.call_tool(name, arguments)
        assert found.is_error
        said.append(found.content[0].text)  # type: ignore[union-attr]
    unknown, misspelt, missing, blank = said
    assert "Valid: Kenya, Somalia" in unknown
    assert "country" in misspelt
    assert "country_name" in misspelt
    assert "There is no passage 'none'" in missing
    assert blank.startswith("question: ")
    # A name that no passage can have was a bug of ours (500).
    for uri in ("passage://", "passage://" + "a" * 300, "report://", "none"):
        with pytest.raises(MCPError, match="There is no"):
            await client.read_resource(uri)


async def steps_are_told(client: Client, http: bool) -> None:
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    # An answer from the cache, as the second transport would have it, comes without
    # steps.
    country = "Kenya" if http else "Somalia"
    asked = {
        "question": f"What is the growth rate of {country}?",
        "country_name": [country],
    }
    answer = (
        await client.call_tool("ask", asked, progress_callback=progress)
    ).structured_content
    async with asyncio.timeout(10):  # the client hears of them beside the result
        while not told:
            await asyncio.sleep(0.01)
    # Over HTTP a citation's address opens the passage in the page.
    paths = [f"/passages/{one['chunk_id']}" for one in answer["citations"]]
    assert paths
    assert [
        one.get("url", "").endswith(path)
        for one, path in zip(answer["citations"], paths, strict=True)
    ] == [http] * len(paths)
    assert [done for done, _ in told] == [
        float(number) for number in range(1, len(told) + 1)
    ]


async def an_agent_compares_two_countries_and_never_leaves_the_scope(
    client: Client,
) -> None:
    """A scripted model: it looks what there is, reads the figures of each country and
    year, and quotes them.
    """
    there = (await client.call_tool("facets", {})).structured_content
    found: dict[tuple[str, int], Any] = {}
    for country in [one["value"] for one in there["country_name"]]:
        for year in (2021, 2023):
            asked = {
                "country_name": [country],
                "indicator": "Real GDP growth rate",
                "figure_year": year,
            }
            (figure,) = (
                await client.call_tool("read_figures", asked)
            ).structured_content["figures"]
            passage = (
                await client.call_tool("read_passage", {"chunk_id": figure["chunk_id"]})
            ).structured_content
            assert passage["country_name"] == country
            assert figure["text"] in passage["text"]
            found[country, year] = figure["value"]
    assert found == RATES


def test_a_session_over_both_transports(server: Any) -> None:
    async def run() -> None:
        async with Client(server, read_timeout_seconds=60) as client:
            await all_that_there_is(client)
            await what_is_wrong_is_said_so_that_an_agent_can_mend_it(client)
            await steps_are_told(client, http=isinstance(server, str))
            await an_agent_compares_two_countries_and_never_leaves_the_scope(client)

    run_async(asyncio.wait_for(run(), 240))


@pytest.mark.parametrize("server", ["http"], indirect=True)
def test_the_handshake_of_older_revisions_is_spoken(server: Any) -> None:
    async def run() -> None:
        async with Client(server, mode="legacy", read_timeout_seconds=60) as client:
            assert client.protocol_version == "2025-11-25"
            reports = (
                await client.call_tool("list_reports", {"country_name": ["Kenya"]})
            ).structured_content
            assert reports["total"] == 1

    run_async(asyncio.wait_for(run(), 120))


def test_older_revisions_need_no_session(app: Flask) -> None:
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"]:
        client, about = (
            app.test_client(),
            {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
        )
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": version, **about},
        }
        initialized = client.post("/mcp", json=body)
        assert initialized.json["result"]["protocolVersion"] == version
        assert "Mcp-Session-Id" not in initialized.headers
        assert (
            client.post(
                "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}
            ).status_code
            == 202
        )
        body, headers = (
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
            {"MCP-Protocol-Version": version},
        )
        assert len(
            client.post("/mcp", json=body, headers=headers).json["result"]["tools"]
        ) == len(TOOLS)


def test_a_report_is_read_as_it_is_shown(app: Flask) -> None:
    """In order, nothing twice, without the summary that was made of it, and nothing of
    a version on its way.
    """
    client, lines = (
        app.test_client(),
        [
            f"Line {number} of the long report is about matter {number}."
            for number in range(90)
        ],
    )
    added(client, ("long.md", "# Long\n\n" + " ".join(lines)))
    services = app.extensions["services"]
    (record,) = (
        one for one in services.storage.documents.all(Scope()) if one.title == "Long"
    )
    (first, *_), _ = services.runtime.store.stored(record.id)
    coming = replace(first, id=f"{record.id}-next-00000", text="Not to be seen yet.")
    services.runtime.store.upsert(
        [coming], services.runtime.embedder.embed_documents([coming.text])
    )
    text = Toolbox(services, ANYBODY, Cancellation()).read(f"report://{record.id}")[
        "contents"
    ][0]["text"]
    assert " ".join(text.split()) == "# Long " + " ".join(lines)
    services.runtime.store.delete_document(record.id, keep=record.chunk_ids())


def test_what_no_client_sends_is_no_bug(app: Flask) -> None:
    for params in [
        ("tools/call", {"name": "facets", "_meta": "x"}),
        ("tools/call", {"name": "facets", "_meta": [1]}),
        ("resources/list", {"cursor": "9" * 5_000}),
    ]:
        body = {"jsonrpc": "2.0", "id": 1, "method": params[0], "params": params[1]}
        response = app.test_client().post("/mcp", json=body)
        assert response.status_code < 500
        assert {"result", "error"} & response.get_json().keys()


def test_a_bug_within_a_stream_is_told_and_logged(
    app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(toolbox: Toolbox, arguments: Scoped) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(TOOLS, "facets", fail)
    params = {"name": "facets", "arguments": {}, "_meta": {"progressToken": 1}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    text = app.test_client().post("/mcp", json=body).get_data(as_text=True)
    message = json.loads(text.partition("data: ")[2])
    assert (message["id"], message["error"]["code"]) == (7, -32603)
    assert "Something went wrong" in message["error"]["message"]
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()

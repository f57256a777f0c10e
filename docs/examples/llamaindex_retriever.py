"""The reports as a LlamaIndex retriever: `ReportRetriever(country="Kenya",
year=2023).retrieve("population growth")`.

Needs llama-index-core and httpx2, and a running server.
"""

from __future__ import annotations

import os
from typing import Any

import httpx2
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class ReportRetriever(BaseRetriever):
    """Passages of a scope; nothing outside it is ever found. Raises
    httpx2.HTTPStatusError: its body says why.
    """

    def __init__(
        self,
        *,
        country: str | None = None,
        year: int | None = None,
        limit: int = 5,
        key: str = "",
    ) -> None:
        scope = {"country_name": country, "year": year}
        self._filters = {
            name: value for name, value in scope.items() if value is not None
        }
        self._limit = limit
        self._server = os.environ.get("REPORT_CHAT", "http://127.0.0.1:8000")
        key = key or os.environ.get("REPORT_CHAT_KEY", "")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with httpx2.Client(base_url=self._server, headers=self._headers) as client:
            return _nodes(client.post("/api/search", json=self._body(query_bundle)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with httpx2.AsyncClient(
            base_url=self._server, headers=self._headers
        ) as client:
            return _nodes(
                await client.post("/api/search", json=self._body(query_bundle))
            )

    def _body(self, query_bundle: QueryBundle) -> dict[str, Any]:
        return {
            "query": query_bundle.query_str,
            "filters": self._filters,
            "limit": self._limit,
        }


def _nodes(response: httpx2.Response) -> list[NodeWithScore]:
    hits = response.raise_for_status().json()["hits"]
    return [
        NodeWithScore(
            node=TextNode(text=hit.pop("text"), id_=hit["chunk_id"], metadata=hit),
            score=hit["score"],
        )
        for hit in hits
    ]

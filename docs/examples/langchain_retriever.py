"""The reports as a LangChain retriever: `ReportRetriever(country="Kenya",
year=2023).invoke("population growth")`.

Needs langchain-core and httpx2, and a running server.
"""

from __future__ import annotations

import os
from typing import Any

import httpx2
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class ReportRetriever(BaseRetriever):
    """Passages of a scope; nothing outside it is ever found. Raises
    httpx2.HTTPStatusError: its body says why.
    """

    server: str = os.environ.get("REPORT_CHAT", "http://127.0.0.1:8000")
    key: str = os.environ.get("REPORT_CHAT_KEY", "")
    country: str | None = None
    year: int | None = None
    limit: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        with httpx2.Client(base_url=self.server, headers=self._headers()) as client:
            return _documents(client.post("/api/search", json=self._body(query)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        async with httpx2.AsyncClient(
            base_url=self.server, headers=self._headers()
        ) as client:
            return _documents(await client.post("/api/search", json=self._body(query)))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def _body(self, query: str) -> dict[str, Any]:
        scope = {"country_name": self.country, "year": self.year}
        filters = {name: value for name, value in scope.items() if value is not None}
        return {"query": query, "filters": filters, "limit": self.limit}


def _documents(response: httpx2.Response) -> list[Document]:
    hits = response.raise_for_status().json()["hits"]
    # A chain shows a model the content only: without its heading, "2.09%" says nothing.
    return [
        Document(
            f"{hit['title']}, {hit['section']}\n{hit.pop('text')}",
            id=hit["chunk_id"],
            metadata=hit,
        )
        for hit in hits
    ]

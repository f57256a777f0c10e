"""Asking a data set in one configuration after the other, for `evaluate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..agents.understanding import Understanding
from ..embedders import LOCAL
from ..evaluation.configurations import Configuration
from ..evaluation.dataset import Dataset
from ..evaluation.runner import Answering, Ask, Measured, measure_abstention, measure_retrieval
from ..services import Services
from .scratch import cut_anew, throw_away


class Run:
    """One data set, asked in one configuration after the other."""

    def __init__(self, reports: Services, data: Dataset, *, ask: Ask, answers: bool) -> None:
        self._reports = reports
        self._data = data
        self._ask = ask
        self._answers = answers
        self.model_id = reports.embedder.model_id

    def measure(self, configuration: Configuration) -> Measured:
        with self._services(configuration) as services, self._progress(configuration.name) as bar:
            settings = services.settings
            measured = measure_retrieval(
                self._data,
                configuration.name,
                services.retriever,
                method=settings.retrieval_method,
                ask=self._ask,
                progress=bar.update,
            )
            if not self._data.chunks:
                measured.abstained = measure_abstention(
                    self._data,
                    _answering(services),
                    method=settings.retrieval_method,
                    top_k=settings.top_k,
                    ask=self._ask,
                    progress=bar.update,
                )
        return measured

    def _progress(self, name: str) -> Any:
        steps = len(self._data.answerable) + (0 if self._data.chunks else len(self._data.queries))
        return click.progressbar(length=steps, label=name, file=sys.stderr)

    @contextmanager
    def _services(self, configuration: Configuration) -> Iterator[Services]:
        overrides = dict(configuration.overrides)
        if not self._answers:
            overrides["chat_model"] = "extractive"
        if self.model_id.partition(":")[0] in LOCAL:
            overrides["cache_seconds"] = 0.0  # else only the first configuration would take its time to embed
        if configuration.cuts_anew:
            with throw_away(self._reports, **overrides) as scratch:
                cut_anew(self._reports, scratch, self._data)
                yield scratch
        else:
            with Services(self._reports.settings.override(**overrides)) as services:
                yield services


def _answering(services: Services) -> Answering:
    """What /query does with a question, without a conversation that keeps it."""
    understanding = Understanding(
        catalog=services.documents,
        chat_models=services.chat_models,
        on_empty=services.settings.on_empty,
    )
    return lambda question, cancel: understanding.run(services.agent(question.mode), question, cancel=cancel)

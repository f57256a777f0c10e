"""A data set of `../shared/data/bench` in a throw-away store, embedded with the built-in model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chatbot.evaluation.dataset import Dataset, read_dataset
from chatbot.evaluation.runner import load_chunks
from chatbot.services import Services
from chatbot.settings import Settings


@contextmanager
def loaded(folder: Path) -> Iterator[tuple[Services, Dataset]]:
    with tempfile.TemporaryDirectory() as data_dir:
        settings = Settings(data_dir=Path(data_dir), embedding_provider="minilm", sample_data="off")
        with Services(settings) as services:
            data = read_dataset(folder, settings.filter_fields)
            services.prepare()
            services.remember_embedder()
            load_chunks(services.store, services.embedder, data.chunks, lambda done: None)
            yield services, data

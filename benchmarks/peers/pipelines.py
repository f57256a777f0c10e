"""A framework at work, in its own environment: takes passages in, then answers
questions over HTTP.

Called as `pipelines.py PEER DATA.npz`; then a line of JSON in, one out. The contract of
`with_PEER.py`: `build(texts, vectors, embed) -> retrieve(question) -> passages`,
hybrid, best first; `vectors` None = embed them by `embed` (texts to lists of floats).
The answer is the first passage: no model, so that only the framework is timed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TOP_K, LONGEST = 5, 254


class MiniLM:
    """The model files of this product, run as it runs them."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST + 2)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        self._session = onnxruntime.InferenceSession(
            str(folder / "model-int8.onnx"), options
        )

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        ids = np.asarray([self._tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        pooled = self._session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        return (pooled / np.linalg.norm(pooled)).tolist()


def serve(retrieve) -> str:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            True  # else each response but a connection's first takes 40 ms more
        )

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = retrieve(asked["query"])
            body = json.dumps({"response": found[0], "sources": found}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            """Say nothing: standard output is for the other side."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def main(peer: str, data: str) -> None:
    began = time.perf_counter()
    with np.load(data) as stored:
        texts, vectors = [str(text) for text in stored["texts"]], stored["vectors"]
    embed, build = (
        MiniLM(Path(os.environ["MINILM"])),
        importlib.import_module(f"with_{peer}").build,
    )
    retrieve = build(texts, vectors.tolist(), embed) if len(vectors) else None
    if retrieve:
        assert retrieve("What is the population of Kenya?")
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        if "serve" in json.loads(line):
            print(json.dumps({"url": serve(retrieve)}), flush=True)
            continue
        began = time.perf_counter()
        build(texts, None, embed)
        whole = time.perf_counter() - began
        embed(texts)
        print(
            json.dumps({"ratio": (time.perf_counter() - began - whole) / whole}),
            flush=True,
        )


main(*sys.argv[1:])

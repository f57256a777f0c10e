"""Run the commands that the pages print in blocks of code, as they are printed, in a
folder with a small library, and list those that are not run, each with its reason.

    python -m benchmarks documented [--page docs/reports.md ...] [--list]

docs/snippets.md has a test of its own. MongoDB and the language model are the doubles
of the tests. What the pages leave to the reader (ID, /backups, reports.example.org) is
filled in (`Surroundings.filled`). Exits with 1 if a command fails.
"""

from __future__ import annotations

import argparse
import http.server
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.search_server import SearchServer

from .recorded_client import free_port

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
COMMAND = re.compile(
    r"(?:\$ )?((?:[A-Z_]+=\S+ )*"
    r"(?:python|report-chat|curl|gunicorn|pip|docker|make|git)\b.*)"
)
NOT_RUN = {
    r"^docker ": "needs a Docker daemon; .github/workflows/ci.yml starts the image",
    r"^pip |^python -m venv": "`python -m benchmarks stranger` installs",
    r"-m benchmarks": "the nightly run has them",
    r"^CHUNK_STRATEGY=plain": "needs the adapters in place: tests/test_extending.py",
    r"^git |^make ": "for who publishes a release",
    r"CHAT_URL": "posts to the reader's chat; tests/extras/hooks has the receiver",
}
WAITS = re.compile(r"chatbot serve|gunicorn|^python app\.py|--every")
"""Commands that go on: they are stopped once the server answers, or after a while."""
NEEDS_SERVER = re.compile(r"^curl")
NEEDS_MONGODB = re.compile(r"\bindex (?:create|status|drop)|mongodb://|\bimport --from")
ON_MONGODB = ("docs/mongodb.md", "docs/tasks/your-atlas.md")
NEEDS_MODEL = re.compile(r"--mode report|openai")
OF_SAMPLES = "sample_data/questions.csv"
"""In commands that need the sample reports, which are in a library of their own."""
MAY_FIND = re.compile(r"chatbot doctor")
"""Commands whose exit status is 1 where they find something, as the page says."""
SECONDS = 600.0
MARKDOWN = """# {country}: Country Report {year}

## People and Society

### Population

52,428,290 ({year} est.)

### Population growth rate

2.09% ({year} est.)

## Economy

### Real GDP growth rate

5.4% ({year} est.)
"""
ASKED = (
    "How many people live in {}?",
    "How large is the population of {}?",
    "How fast does the population of {} grow?",
    "What is the population growth rate of {}?",
    "How fast does the economy of {} grow?",
    "What is the real GDP growth rate of {}?",
)


@dataclass(frozen=True)
class Printed:
    """A command with the page and the line where it stands."""

    page: str
    line: int
    text: str

    @property
    def reason(self) -> str:
        """Why it is not run; "" if it is."""
        for pattern, reason in NOT_RUN.items():
            if re.search(pattern, self.text):
                return reason
        return ""


@dataclass(frozen=True)
class Surroundings:
    """Where a page is tried: a folder of its own, and what answers on this machine."""

    folder: Path
    port: int
    mongodb: str
    model: str
    website: str

    def environment(self, command: Printed) -> dict[str, str]:
        values = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "PORT": str(self.port),
            "EMBEDDING_PROVIDER": "hashing",
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
            "WEB_CONCURRENCY": "1",
            "FETCH_PRIVATE_URLS": "True",
        }
        if command.page == "docs/tasks/tenants.md":
            values["file"] = "kenya.pdf"  # of the loop over a folder
            values["FILTER_FIELDS"] = "tenant_id,country_name,year,document_name,type"
        on_mongodb = command.page in ON_MONGODB or NEEDS_MONGODB.search(command.text)
        if on_mongodb and "copy --from" not in command.text:
            values |= {"MONGODB_URI": self.mongodb, "MONGODB_TIMEOUT": "60"}
        if OF_SAMPLES in command.text:
            values["DATA_DIR"] = "samples"
        if "=atlas" in command.text:
            # As the page says: a database without passages of another provider.
            del values["EMBEDDING_PROVIDER"]
            values["MONGODB_DB"] = "embedded_by_mongodb"
        if NEEDS_MODEL.search(command.text):
            values |= {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": self.model}
        return values

    def run(self, text: str, environment: Mapping[str, str]) -> tuple[int, str]:
        """Return the exit status and what was printed."""
        done = subprocess.run(
            ["bash", "-c", text],
            input="y\n" * 9,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def served(self, text: str, environment: Mapping[str, str]) -> Iterator[list[str]]:
        """Run a server until it answers; what it printed is in the list afterwards."""
        printed: list[str] = []
        log = self.folder / "server.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                ["bash", "-c", text],
                cwd=self.folder,
                env=environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        try:
            deadline = time.monotonic() + SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                if self.answers():
                    break
                time.sleep(0.5)
            yield printed
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(SECONDS)
            printed.append(log.read_text())

    def answers(self) -> bool:
        for port in (self.port, 8001, 8080):
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/health", timeout=2
                ) as answer:
                    return bool(answer.status == 200)
            except OSError:
                continue
        return False

    def filled(self, text: str, found: Callable[[str], str]) -> str:
        """Return a command with what the page leaves to the reader."""
        text = text.replace("localhost:8000", f"127.0.0.1:{self.port}")
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        text = text.replace(
            "https://reports.example.org", f"http://127.0.0.1:{self.port}"
        )
        text = text.replace("mongodb://localhost:27017", self.mongodb)
        text = text.replace("https://example.org/hook", f"{self.website}/hook")
        text = text.replace("https://example.org", self.website)
        text = re.sub(r"/(?:backups|tmp)/", f"{self.folder}/", text)
        text = re.sub(r"\bPORT=8001\b", f"PORT={self.port}", text)
        text = re.sub(r"--port 8080\b", f"--port {self.port}", text)
        text = text.replace(" FOLDER", " folder")
        # The double of MongoDB is exact and slow: two reports instead of 74.
        text = text.replace("ingest sample_data/country_reports", "ingest reports/")
        kind = "deleted" if "undelete" in text else "report"
        text = re.sub(r"\b(?:DOCUMENT_)?ID\b", lambda _: found(kind), text)
        text = re.sub(r"rck_\w+", lambda _: found("key"), text)
        return re.sub(r"hook_[0-9a-f]{16}", lambda _: found("hook"), text)


LISTS = {
    "report": ("python -m chatbot documents list", r"\b[0-9a-f]{20}\b"),
    "deleted": ("python -m chatbot documents list --deleted", r"\b[0-9a-f]{20}\b"),
    "key": ("python -m chatbot keys list", r"rck_\w+"),
    "hook": ("python -m chatbot hooks list", r"hook_[0-9a-f]+"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="append")
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    names = options.page or [*PAGES, *pages_of_docs()]
    printed = [command for name in names for command in commands(name)]
    if options.list:
        for command in printed:
            print(f"{command.page}:{command.line}: {command.text}")
        return
    failed = []
    with ExitStack() as stack:
        model = stack.enter_context(FakeOpenAI(dimensions=1536))
        website = stack.enter_context(a_website())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        prepare(folder / "library", website)
        for name in dict.fromkeys(command.page for command in printed):
            own = shutil.copytree(folder / "library", folder / name.replace("/", "-"))
            mongodb = stack.enter_context(SearchServer())
            add_rows_of_others(mongodb)
            here = Surroundings(own, free_port(), mongodb.uri, model.url, website)
            of_page = [command for command in printed if command.page == name]
            failed += [command for command in of_page if not try_out(here, command)]
    not_run = [command for command in printed if command.reason]
    print(f"{len(printed) - len(not_run)} of {len(printed)} were run.", flush=True)
    for reason in dict.fromkeys(command.reason for command in not_run):
        texts = [command.text for command in not_run if command.reason == reason]
        print(f"not run, {len(texts)}: {reason}")
    sys.exit(f"{len(failed)} failed" if failed else 0)


def pages_of_docs() -> list[str]:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    names = [path.relative_to(ROOT).as_posix() for path in pages]
    return [name for name in names if name != "docs/snippets.md"]


def commands(name: str) -> Iterator[Printed]:
    """Yield the commands in the blocks of a page; one may take several lines."""
    lines = iter(enumerate((ROOT / name).read_text("utf-8").splitlines(), start=1))
    fence = ""
    for number, line in lines:
        if line.startswith("```"):
            fence = "" if fence else line[3:] or "text"
            continue
        code = line if fence in {"bash", "console", "text"} else ""
        if not fence and line.startswith("    "):
            code = line.strip()
        match = COMMAND.fullmatch(code.strip())
        if match is None:
            continue
        text = match[1]
        while not is_whole(text):
            text += "\n" + next(lines)[1].strip()
        yield Printed(name, number, re.sub(r"\s+#\s.*$", "", text))


def is_whole(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return not text.endswith("\\")


def try_out(here: Surroundings, command: Printed) -> bool:
    """Run one command; print what became of it."""
    if command.reason:
        return True
    environment = here.environment(command)

    def found(kind: str) -> str:
        listing, pattern = LISTS[kind]
        _, shown = here.run(listing, environment)
        ids = re.findall(pattern, shown)
        return ids[0] if ids else f"no-{kind}"

    text = here.filled(command.text, found)
    for variable, limit in (("ACME_KEY", "--filter tenant_id=acme"), ("OWNER_KEY", "")):
        if f"${variable}" in text:
            create = f"python -m chatbot keys create A --role write {limit}"
            _, shown = here.run(create, environment)
            (environment[variable],) = re.findall(r"rck_[\w-]{20,}", shown)
    if OF_SAMPLES in text:
        here.run("python -m chatbot ingest sample_data", environment)
    try:
        if WAITS.search(command.text):
            status, shown = stopped(here, text, environment)
        elif NEEDS_SERVER.search(command.text):
            with here.served("python app.py", environment):
                status, shown = here.run(text, environment)
        else:
            status, shown = here.run(text, environment)
    except subprocess.TimeoutExpired:
        status, shown = -1, "took too long"
    well = status == 0 or (status == 1 and bool(MAY_FIND.search(command.text)))
    word = "ok" if well else f"FAILED ({status})"
    print(f"{word} {command.page}:{command.line}: {text}", flush=True)
    if not well:
        print("    " + "\n    ".join(shown.splitlines()[-12:]), flush=True)
    return well


def stopped(
    here: Surroundings, text: str, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Start what goes on, and stop it once it serves, or after some seconds."""
    if "--every" in text:
        status, shown = here.run(f"timeout --preserve-status 30 {text}", environment)
        return (0 if status in {0, 143} else status), shown
    with here.served(text, environment) as printed:
        answered = here.answers()
    return (0 if answered else 1), "".join(printed)


@contextmanager
def a_website() -> Iterator[str]:
    """Serve a folder with one page, `review.html`."""
    with tempfile.TemporaryDirectory() as folder:
        page = "<h1>Review of 2024</h1><p>The harvest of 2024 was good.</p>"
        Path(folder, "review.html").write_text(page)
        handler = partial(http.server.SimpleHTTPRequestHandler, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


def prepare(folder: Path, website: str) -> None:
    """Write what the pages name, and a library with two reports, a question and its
    rating.
    """
    folder.mkdir()
    for name in ("app.py", "gunicorn.conf.py", "sample_data", "docs", "templates"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "static").symlink_to(ROOT / "static")
    (folder / ".curlrc").write_text("fail-with-body\n")
    for name, country, year in (
        ("older/kenya-2023.md", "Kenya", 2023),
        ("older/somalia-2024.md", "Somalia", 2024),
        ("reports/uganda-2022.md", "Uganda", 2022),
        ("reports/peru-2022.md", "Peru", 2022),
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(MARKDOWN.format(country=country, year=year))
    picture = next((ROOT / "sample_data").rglob("*.pdf"))
    for name in ("notes.pdf", "review.pdf", "kenya.pdf", "reports/review.pdf"):
        shutil.copyfile(picture, folder / name)
    rows = ["question,expected_document"]
    for country, year in (("Kenya", 2023), ("Somalia", 2024)):
        for question in ASKED:
            title = f"{country}: Country Report {year}"
            rows.append(f"{question.format(country)},{title}")
    for name in ("questions.csv", "my_questions.csv"):
        (folder / name).write_text("\n".join(rows) + "\n")
    (folder / "terms.csv").write_text("term,meaning\nFCS,Food consumption score\n")
    (folder / "sources.toml").write_text(
        '[reports]\nkind = "folder"\npath = "reports"\nprune = true\n'
    )
    corpus = folder / "folder"
    (corpus / "qrels").mkdir(parents=True)
    (corpus / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "Kenya", "text": "Tea is grown in Kenya."}\n'
    )
    (corpus / "queries.jsonl").write_text('{"_id": "1", "text": "What is grown?"}\n')
    (corpus / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    here = Surroundings(folder, free_port(), "", "", website)
    plain = here.environment(Printed("", 0, ""))
    for text in (
        "python -m chatbot ingest older/",
        'python -m chatbot keys create "Nairobi office"',
    ):
        status, shown = here.run(text, plain)
        if status:
            sys.exit(f"{text}: {shown}")
    with here.served("python app.py", plain):
        answer = here.run(RATED.format(port=here.port), plain)
    if answer[0]:
        sys.exit(answer[1])


RATED = """python - <<'END'
import http.cookiejar, json, urllib.request
cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
opener = urllib.request.build_opener(cookies)
def post(path, body):
    data, kind = json.dumps(body).encode(), {{"Content-Type": "application/json"}}
    request = urllib.request.Request("http://127.0.0.1:{port}" + path, data, kind)
    with opener.open(request) as answer:
        return json.loads(answer.read() or "null")
opener.open("http://127.0.0.1:{port}/")
answer = post("/query", {{"query": "How many people live in Kenya?"}})
post("/api/messages/" + answer["message_id"] + "/feedback", {{"rating": "up"}})
END
"""


def add_rows_of_others(server: SearchServer) -> None:
    """Write rows as LangChain does, with vectors of the library's model."""
    from chatbot.models.embed.hashing import HashingEmbedder

    embed = HashingEmbedder(256)
    rows = [
        {
            "text": f"Tea of harvest {number} came from the hills.",
            "source": "tea.pdf",
            "page": number,
            "nation": "Kenya",
        }
        for number in range(4)
    ]
    for row in rows:
        vector = embed.embed_query(str(row["text"]))
        row["embedding"] = [float(value) for value in vector]
    server.client["report_chat"]["vectors"].insert_many(rows)


if __name__ == "__main__":
    main()

"""The README and docs/: what they name exists, and what exists is named there."""

import re
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from flask import Flask

from chatbot.app.cli import all_commands, load_command
from chatbot.app.factory import close_app, create_app
from chatbot.app.web.asking import ChatRequest
from chatbot.config.settings import SEED_NAMES, Settings
from chatbot.config.settings_types import PRESETS
from chatbot.models.embed import EMBEDDERS
from tests.config.test_settings import declared
from tests.test_extending import RECIPES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *DOCS.rglob("*.md"),
    ]
)
_COMMAND = re.compile(
    r"(?:python -m chatbot|report-chat) +([a-z][\w-]*)(?: ([^\n`|]*))?"
)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)?(?:#([\w-]+))?\)")
_MARK = re.compile(r"\bR-[A-EP]\d*\b")
TEXT = {
    ".example",
    ".html",
    ".js",
    ".json",
    ".md",
    ".py",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}
_OUTSIDE = (
    "../shared",
    "/work/",
    "DESIGN.md",
    "REQUIREMENTS",
    "MODELS.md",
    "MONGODB.md",
)
_PATH = re.compile(
    r"`((?:chatbot|tests|benchmarks|docs|static|templates|sample_data)/[\w./-]*)"
)
_SETTING = re.compile(r"`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:=[^`]*)?`")


def settings_tables() -> str:
    """What docs/configuration.md shows between its headings "Every setting" and
    "Presets".
    """
    lines: list[str] = []
    for one in declared():
        if one.name:
            lines.append(
                f"| `{one.name}` | {f'`{one.default}`' if one.default else ''} | "
                f"{one.description} |"
            )
        else:
            lines += [
                "",
                f"### {one.section}",
                "| setting | default | meaning |",
                "|---|---|---|",
            ]
    return "\n".join(lines) + "\n"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of the command line that a page names, with what follows them on the
    line.
    """
    for name, rest in _COMMAND.findall(text):
        yield name, rest.partition(" #")[0].partition("  ")[0]


def tracked_files() -> list[Path]:
    """Return every text file that git tracks; a virtual environment within the checkout
    is none of them.
    """
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    return [
        path
        for name in names.splitlines()
        if (path := ROOT / name).suffix in TEXT and path.is_file()
    ]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    made = create_app(
        Settings(
            data_dir=folder,
            embedding_provider="hashing",
            chat_model="echo",
            sample_data="off",
        )
    )
    yield made
    close_app(made)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 185


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        linked = (page.parent / target) if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(
                r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE
            )
            assert anchor in {
                re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
                for heading in headings
            }


def test_every_path_that_is_named_exists() -> None:
    examples = {
        "chatbot/FOLDER/__init__.py",
        *(f"{place}.py" for _, place, *_ in RECIPES),
    }
    for page in (*PAGES, ROOT / "benchmarks" / "README.md"):
        named = set(_PATH.findall(page.read_text(encoding="utf-8"))) - examples
        assert not [path for path in named if not (ROOT / path).exists()], page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_option_exists(page: Path) -> None:
    for name, rest in commands(page.read_text(encoding="utf-8")):
        assert name in all_commands(), f"{page.name} names the command {name}"
        command = load_command(name)
        if isinstance(command, click.Group) and (sub := re.match(r"[a-z]+", rest)):
            assert sub[0] in command.commands, f"{page.name} names {name} {sub[0]}"
            command = command.commands[sub[0]]
        options = {
            option for parameter in command.params for option in parameter.opts
        } | {"--help"}
        assert {*re.findall(r"(?<!\S)--[a-z][\w-]*", rest)} <= options, (
            f"{page.name}: {name} {rest}"
        )


def test_every_command_is_named() -> None:
    named = {
        name for page in PAGES for name, _ in commands(page.read_text(encoding="utf-8"))
    }
    assert set(all_commands()) <= named


def test_every_setting_that_is_named_exists() -> None:
    others = {
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "MONGODB_TEST_URI",
        "REPORT_CHAT_TEST_DATA",
    }
    others |= {
        "WEB_CONCURRENCY",
        "TYPE_CHECKING",
        "REPORT_CHAT_PORT",
        "OPENAI_API_KEY_FILE",
    }
    known = {name.upper() for name in Settings.model_fields} | set(SEED_NAMES) | others
    registries = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "chatbot").glob("*/__init__.py")
    )
    known |= set(re.findall(r"^(\w+)(?:: [^=]+)? = ", registries, re.MULTILINE))
    for page in PAGES:
        assert {*_SETTING.findall(page.read_text(encoding="utf-8"))} <= known, page


def test_the_configuration_shows_every_setting_as_it_is() -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    shown = text.partition("## Every setting\n")[2].partition("\n## Presets")[0]
    assert shown == settings_tables()


def test_every_message_with_a_remedy_is_on_the_page_of_troubleshooting() -> None:
    made = runpy.run_path(str(ROOT / ".ci" / "messages"))["page"]()
    assert (DOCS / "troubleshooting.md").read_text(encoding="utf-8") == made, (
        "run .ci/messages"
    )


def test_the_configuration_names_every_preset() -> None:
    text = (
        (DOCS / "configuration.md")
        .read_text(encoding="utf-8")
        .partition("## Presets")[2]
    )
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(PRESETS)


def test_the_providers_are_listed_with_their_default_models() -> None:
    lines = (DOCS / "providers.md").read_text(encoding="utf-8").splitlines()
    tables = "\n".join(lines).partition("| `openai:")
    rows = {
        line.split("`")[1]: line
        for line in tables[0].splitlines()
        if line.startswith("| `")
    }
    assert {*EMBEDDERS.names()} - {"hashing"} <= {*rows}
    assert all(
        f"| `{model}" in "".join(tables[1:])
        for model in ("openai", "extractive", "echo")
    )
    for name in {*rows} & {*EMBEDDERS.names()}:
        assert EMBEDDERS.default_model(name) in rows[name], name


def test_the_api_page_lists_every_endpoint(app: Flask) -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8").partition("## A question")[0]
    listed = {
        (method, path) for method, path in re.findall(r"`([A-Z]+) (/[^`?]*)`", text)
    }
    served = {
        (method, re.sub(r"<\w+:", "<", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint not in {"static", "assets.asset"}
    }
    assert listed == served


def test_the_api_page_explains_every_field_of_a_question() -> None:
    text = (
        (DOCS / "api.md")
        .read_text(encoding="utf-8")
        .partition("## A question")[2]
        .partition("## An answer")[0]
    )
    rows = " ".join(
        line.split("|")[1] for line in text.splitlines() if line.startswith("| `")
    )
    fields = {field.alias or name for name, field in ChatRequest.model_fields.items()}
    assert fields <= set(re.findall(r"\w+", rows))


def test_every_mark_in_the_code_is_explained() -> None:
    explained = set(
        _MARK.findall((DOCS / "requirements.md").read_text(encoding="utf-8"))
    )
    used = {
        mark
        for path in tracked_files()
        for mark in _MARK.findall(path.read_text(encoding="utf-8"))
    }
    assert used <= explained


def test_no_reference_leads_outside_the_repository() -> None:
    """Nothing but `.ci/run` knows where the data sets of this machine lie."""
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked_files()
        if path != Path(__file__)
        for word in _OUTSIDE
        if word in path.read_text(encoding="utf-8")
    ]
    assert not found, "\n" + "\n".join(found)

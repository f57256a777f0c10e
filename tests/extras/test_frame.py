"""What EXTRAS leaves out is not there, and a start that relies on it says so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dotenv import dotenv_values

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain.errors import SettingsError, UnknownNameError
from chatbot.domain.registry import Registry
from chatbot.extras import EXTRAS, Extra, answer, enabled, extras, load
from tests.app.web.live import application
from tests.conftest import small_settings

ROOT = Path(__file__).parent.parent.parent
ADDRESSES = {
    "changes": "/api/changes",
    "openapi": "/openapi.json",
    "operator": "/api/usage",
    "protocols": "/v1/models",
    "sources": "/api/sources",
}
"""One address of each extra that has some."""
WITH_PAGES = ("changes", "operator")
"""Those that other pages lead to."""
VALUES = {
    "CHAT_API_KEY": "sk-hunter2",
    "CHAT_BASE_URL": "https://models.example",
    "MLFLOW_TRACKING_URI": "file:runs",
    "OIDC_CLIENT_ID": "reports",
    "OIDC_CLIENT_SECRET": "hunter2",
    "OIDC_GROUPS_CLAIM": "roles",
    "OIDC_ISSUER": "https://login.example",
    "RERANK_MODEL": "rerank-2.5-lite",
    "SCHEMA": "langchain",
    "POSTGRES_URI": "postgresql://h/reports",
    "SIGN_IN_GROUPS": "groups.toml",
    "SIGN_IN_HEADERS": "Remote-User",
    "SOURCES": "others.toml",
    "SYNC_EVERY": "1h",
    "TRACES": "otlp",
}
"""A value of each setting that an extra reads."""
WITH = {
    "SCHEMA": {"MONGODB_URI": "mongodb://127.0.0.1:1"},
    "OIDC_ISSUER": {"SIGN_IN_GROUPS": "groups.toml", "OIDC_CLIENT_ID": "reports"},
    "SIGN_IN_HEADERS": {
        "SIGN_IN_GROUPS": "groups.toml",
        "TRUSTED_PROXIES": "127.0.0.1",
    },
}
"""What other settings a setting needs."""


def test_a_registered_name_is_that_of_its_extra() -> None:
    assert [extra.name for extra in extras()] == EXTRAS.names()


@pytest.mark.parametrize("extra", extras(), ids=lambda extra: extra.name)
def test_every_part_of_an_extra_is_where_it_says(extra: Extra) -> None:
    commands = [reference for reference, _ in extra.commands.values()]
    hooks = [*extra.verify, *extra.doctor, *extra.background.values()]
    hooks += [hook for hook in (extra.people, extra.observer, extra.rows) if hook]
    for reference in (*extra.blueprints, *commands, *hooks):
        assert load(reference) is not None
    for group, rows in extra.adapters.items():
        registry: Registry[object] = Registry(group, rows)
        for name in rows:
            assert callable(registry.builder(name))
    assert set(extra.settings) <= Settings.model_fields.keys()


def test_the_page_on_the_extras_names_all_with_their_settings_and_commands() -> None:
    page = (ROOT / "docs/extras/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert [
        (name, re.findall("`(.*?)`", settings), re.findall("`(.*?)`", commands))
        for name, settings, commands in rows
    ] == [
        (extra.name, [name.upper() for name in extra.settings], sorted(extra.commands))
        for extra in extras()
    ]


def test_the_default_is_every_extra_and_none_is_no_extra() -> None:
    assert [extra.name for extra in enabled(Settings())] == EXTRAS.names()
    assert enabled(Settings.from_env({"EXTRAS": "none"})) == ()
    (changes,) = enabled(Settings.from_env({"EXTRAS": "changes"}))
    assert changes.name == "changes"


def test_an_unknown_extra_stops_the_start_with_the_valid_names(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError) as raised:
        build(small_settings(tmp_path, extras="changes,chnages"))
    assert "'chnages' is not a valid extra. Valid: all, changes" in str(raised.value)


def test_all_and_none_stand_alone() -> None:
    for names in ("none,changes", "changes,all"):
        with pytest.raises(SettingsError, match=r"EXTRAS.*all and none stand alone"):
            Settings.from_env({"EXTRAS": names})


def test_every_setting_of_an_extra_has_a_value_to_try() -> None:
    assert {name for extra in extras() for name in extra.settings} == {
        name.lower() for name in VALUES
    }


@pytest.mark.parametrize(
    "extra",
    [extra for extra in extras() if extra.settings],
    ids=lambda extra: extra.name,
)
def test_a_setting_of_an_extra_that_is_left_out_stops_the_start(extra: Extra) -> None:
    for name in (name.upper() for name in extra.settings):
        values = {**WITH.get(name, {}), name: VALUES[name]}
        assert enabled(Settings.from_env({**values, "EXTRAS": "all"}))
        with pytest.raises(SettingsError) as raised:
            build(Settings.from_env({**values, "EXTRAS": "none"}))
        named, _, rest = raised.value.message.partition(": ")
        assert name in named.split(", ")
        assert rest == (
            f"EXTRAS leaves out the extra {extra.name!r}, which reads it. Add "
            f"{extra.name} to EXTRAS, or remove the setting."
        )


def test_a_copy_of_env_example_starts_without_extras(tmp_path: Path) -> None:
    values = {
        name: value or ""
        for name, value in dotenv_values(ROOT / ".env.example").items()
    }
    values |= {"EXTRAS": "none", "DATA_DIR": str(tmp_path)}
    assert enabled(Settings.from_env(values)) == ()


def test_the_first_extra_that_makes_something_answers() -> None:
    """An installed one counts where ours has nothing to do."""
    ours = Extra(name="ours", people="typing:get_origin")
    without = Extra(name="without")
    installed = Extra(name="installed", people="builtins:len")
    last = Extra(name="last", people="builtins:repr")
    assert answer((ours, without, installed, last), "people", "abc") == 3
    assert answer((ours, without), "people", "abc") is None


@pytest.mark.parametrize(("extra", "address"), ADDRESSES.items(), ids=ADDRESSES.keys())
def test_an_extra_that_is_left_out_has_no_addresses_and_no_links(
    extra: str, address: str, tmp_path: Path
) -> None:
    links = {}
    for names in (extra, "none"):
        settings = small_settings(tmp_path / names, chat_model="echo", extras=names)
        with application(settings) as app:
            client = app.test_client()
            assert (client.get(address).status_code == 404) == (names == "none")
            page = client.get("/documents").get_data(as_text=True)
            links[names] = set(re.findall(r'href="(/\w+)"', page))
    assert (links[extra] > links["none"]) == (extra in WITH_PAGES)


class TestInstalled:
    """docs/examples/extra.py, installed as a package of its own."""

    @pytest.fixture
    def environment(self, tmp_path: Path) -> dict[str, str]:
        about = tmp_path / "acme-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n"
        )
        (about / "entry_points.txt").write_text(
            "[report_chat.extras]\nacme = acme:build\nchanges = acme:build\n"
        )
        source = (ROOT / "docs/examples/extra.py").read_text(encoding="utf-8")
        (tmp_path / "acme.py").write_text(source, encoding="utf-8")
        return {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "DATA_DIR": str(tmp_path / "data"),
            "EMBEDDING_PROVIDER": "hashing",
            "SAMPLE_DATA": "off",
        }

    @staticmethod
    def run(environment: dict[str, str], *command: str) -> tuple[int, str]:
        ended = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    @pytest.mark.nightly
    def test_a_package_adds_an_extra_and_replaces_none(
        self, environment: dict[str, str]
    ) -> None:
        environment["EXTRAS"] = "all"
        code = (
            "from chatbot.app.factory import close_app, create_app\n"
            "app = create_app()\n"
            "client = app.test_client()\n"
            "print(client.get('/api/count').json, client.get('/changes').status_code)\n"
            "print('/api/count' in client.get('/openapi.json').json['paths'])\n"
            "close_app(app)"
        )
        status, output = self.run(environment, "-c", code)
        assert (status, output) == (0, "{'reports': 0} 200\nTrue\n")
        assert self.run(environment, "-m", "chatbot", "count") == (0, "0\n")
        _, output = self.run(environment, "-m", "chatbot", "--help")
        assert re.search(r"^  count +Print how many reports", output, re.MULTILINE)

    def test_its_command_is_refused_where_it_is_left_out(
        self, environment: dict[str, str]
    ) -> None:
        environment["EXTRAS"] = "changes"
        status, output = self.run(environment, "-m", "chatbot", "count")
        assert status == 1
        assert output == (
            "Error: EXTRAS leaves out the extra 'acme', which has the command "
            "'count'. Add acme to EXTRAS.\n"
        )

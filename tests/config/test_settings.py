"""Settings: defaults, `.env.example`, and what a wrong value says."""

import ast
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from dotenv import dotenv_values

from chatbot.config.settings import REMOVED, Settings, misspelt_settings
from chatbot.database import open_database
from chatbot.domain.errors import SettingsError
from tests.data import cases

CASES = cases(__file__)

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / ".env.example"
SECRET = "hunter2-very-secret"


class Declared(NamedTuple):
    """A setting, or the section that begins with it, as settings.py has them."""

    section: str
    name: str = ""
    default: str = ""
    description: str = ""


def declared() -> list[Declared]:
    """The sections and settings in the order of settings.py."""
    source = (ROOT / "chatbot/config/settings.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    body = next(
        n
        for n in ast.parse(source).body
        if isinstance(n, ast.ClassDef) and n.name == "Settings"
    ).body
    found: list[Declared] = []
    for field, text in pairwise(body):
        if not isinstance(field, ast.AnnAssign):
            continue
        assert isinstance(field.target, ast.Name)
        assert isinstance(text, ast.Expr)
        assert isinstance(text.value, ast.Constant)
        if (above := lines[field.lineno - 2]).startswith("    # "):
            found.append(Declared(above.removeprefix("    # ")))
        name, default = field.target.id, Settings.model_fields[field.target.id].default
        shown = (
            ""
            if default is None
            else ",".join(default)
            if isinstance(default, tuple)
            else str(default)
        )
        found.append(
            Declared(
                found[-1].section,
                name.upper(),
                shown,
                " ".join(str(text.value.value).split()),
            )
        )
    return found


def test_every_setting_is_declared_with_a_description() -> None:
    settings = [one for one in declared() if one.name]
    assert [one.name.lower() for one in settings] == list(Settings.model_fields)
    assert all(one.description.endswith((".", ")")) for one in settings)
    assert {one.section for one in settings} == {
        one.section for one in declared() if not one.name
    }


def test_env_example_lists_every_setting_with_description_and_default() -> None:
    expected: list[str] = []
    for one in declared():
        expected += (
            [f"# {one.description}", f"{one.name}={one.default}"]
            if one.name
            else ["", f"## {one.section}"]
        )
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert lines[lines.index("") :] == expected


def test_loading_env_example_gives_exactly_the_defaults() -> None:
    values = {name: value or "" for name, value in dotenv_values(EXAMPLE).items()}
    assert set(values) == {name.upper() for name in Settings.model_fields}
    assert Settings.from_env(values) == Settings()


def test_defaults_that_the_contract_names() -> None:
    """R-D5, R-D7."""
    settings = Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (str(settings.data_dir), settings.sample_data) == ("data", "auto")
    assert (
        settings.threshold_start,
        settings.threshold_step,
        settings.threshold_floor,
    ) == (0.7, 0.1, 0.0)
    assert (settings.retrieval_method, settings.vector_weight, settings.top_k) == (
        "hybrid",
        0.6,
        5,
    )
    assert (settings.mongodb_collection, settings.report_collection) == (
        "chatbot_data",
        "report_chatting",
    )
    assert (settings.on_empty, settings.relevance_floor, settings.language) == (
        "abstain",
        "auto",
        "english",
    )
    assert settings.filter_fields == ("country_name", "year", "document_name", "type")


def test_values_are_read_from_the_environment_by_upper_case_name() -> None:
    environ = {
        "TOP_K": " 9 ",
        "CORS_ORIGINS": "https://a.example, https://b.example,",
        "RELEVANCE_FLOOR": "0.55",
    }
    settings = Settings.from_env(environ)
    assert settings.top_k == 9
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert settings.relevance_floor == 0.55


@pytest.mark.parametrize(
    ("settings", "rule"),
    CASES["all_is_open_by_itself_only_where_nobody_else_can_reach_it"],
)
def test_all_is_open_by_itself_only_where_nobody_else_can_reach_it(
    settings: dict[str, str], rule: str
) -> None:
    found = Settings.from_env(settings)
    assert found.rule == rule
    assert found.request_limit == (None if rule == "open" else 300)


def test_empty_values_and_other_variables_are_not_read() -> None:
    assert (
        Settings.from_env({"TOP_K": "", "MONGODB_URI": "  ", "CHAT_MODEL": ""})
        == Settings()
    )
    assert (
        Settings.from_env(
            {"PATH": "/bin", "top_k": "9", "REPORT_CHATTOP_K": "9", "TOP_K_FILE": "x"}
        )
        == Settings()
    )


@pytest.mark.parametrize(
    ("environ", "expected"),
    CASES["the variables of other programs are read for their provider"],
)
def test_the_variables_of_other_programs_are_read_for_their_provider(
    environ: dict[str, str],
    expected: dict[str, str | None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = Settings.from_env(environ)
    assert {name: getattr(settings, name) for name in expected} == expected
    assert ("is read as" in caplog.text) == (
        expected != {"embedding_model": None} and "EMBEDDING_MODEL" not in environ
    )


def test_overrides_win_over_the_prefixed_name_and_that_over_the_plain_one() -> None:
    environ = {"TOP_K": "9", "REPORT_CHAT_TOP_K": "8"}
    assert Settings.from_env(environ, top_k=3).top_k == 3
    assert Settings.from_env(environ).top_k == 8
    assert Settings.from_env({**environ, "REPORT_CHAT_TOP_K": " "}).top_k == 9


def test_the_port_that_kubernetes_sets_for_a_service_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (
        Settings.from_env({"REPORT_CHAT_PORT": "tcp://10.3.0.7:80", "PORT": "81"}).port
        == 81
    )
    assert "REPORT_CHAT_PORT=tcp://10.3.0.7:80 is ignored" in caplog.text
    with pytest.raises(SettingsError, match="PORT='tcp:"):
        Settings.from_env({"PORT": "tcp://10.3.0.7:80"})


class TestSecretFiles:
    @pytest.mark.parametrize("prefix", ["", "REPORT_CHAT_"])
    @pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MONGODB_URI", "SECRET_KEY"])
    def test_a_secret_is_read_from_a_file(
        self, tmp_path: Path, prefix: str, name: str
    ) -> None:
        (tmp_path / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
        settings = Settings.from_env({f"{prefix}{name}_FILE": str(tmp_path / "secret")})
        assert getattr(settings, name.lower()).get_secret_value() == SECRET

    def test_the_prefixed_value_wins_over_the_plain_file(self, tmp_path: Path) -> None:
        settings = Settings.from_env(
            {"REPORT_CHAT_SECRET_KEY": "k" * 16, "SECRET_KEY_FILE": str(tmp_path)}
        )
        assert settings == Settings.from_env({"SECRET_KEY": "k" * 16})

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "cannot be read: No such file"),
            (b" \n", "an empty file"),
            (b"\xff\xfe", "not UTF-8"),
        ],
    )
    def test_an_unusable_file_stops_the_start(
        self, tmp_path: Path, content: bytes | None, reason: str
    ) -> None:
        path = tmp_path / SECRET  # somebody may set the secret itself
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(
            SettingsError, match=f"^OPENAI_API_KEY_FILE names .*{reason}"
        ) as raised:
            Settings.from_env({"OPENAI_API_KEY_FILE": str(path)})
        assert SECRET not in str(raised.value)
        assert raised.value.__cause__ is None

    def test_a_value_and_a_file_stop_the_start(self) -> None:
        with pytest.raises(
            SettingsError, match="MONGODB_URI and MONGODB_URI_FILE are both set"
        ):
            Settings.from_env({"MONGODB_URI": "mongodb://a", "MONGODB_URI_FILE": "b"})


WRONG = CASES["wrong"]


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [(name, *rest) for name, rest in WRONG.items()],
    ids=WRONG,
)
def test_a_wrong_value_is_named_with_its_setting_and_the_valid_ones(
    name: str, value: str, parts: list[str]
) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({name: value})
    assert all(part in raised.value.message for part in parts), raised.value.message


@pytest.mark.parametrize(
    "name", [*REMOVED, *(f"REPORT_CHAT_{name}" for name in REMOVED)]
)
def test_a_removed_setting_stops_the_start_and_says_what_to_use(name: str) -> None:
    assert Settings.from_env({name: " "}) == Settings()
    plain = name.removeprefix("REPORT_CHAT_")
    with pytest.raises(
        SettingsError, match=rf"^{plain} was removed\. \w.*\.$"
    ) as raised:
        Settings.from_env({name: "hunter2"})
    assert "hunter2" not in raised.value.message


@pytest.mark.parametrize(
    "name", ["a'b", "a%b", "a;b", "x" * 51, "$where", "year,year", "_id", "document_id"]
)
def test_a_filter_field_that_no_index_can_have_stops_the_start(name: str) -> None:
    with pytest.raises(SettingsError, match="FILTER_FIELDS"):
        Settings.from_env({"FILTER_FIELDS": name})


@pytest.mark.parametrize("environ", CASES["what_can_be_used_is_taken"])
def test_what_can_be_used_is_taken(environ: dict[str, str]) -> None:
    Settings.from_env(environ)


def test_a_name_that_resembles_a_setting_is_found() -> None:
    """Settings that are set are not proposed, variables of other programs are
    ignored.
    """
    environ = {
        "TOPK": "7",
        "HOSTNAME": "h",
        "LANG": "C",
        "PATH": "/bin",
        "POSTGRES_URL": "x",
        "POSTGRES_URI": "x",
    }
    environ |= {
        "REPORT_CHAT_MONGODB_URL": "x",
        "OPENAI_API_KEY_FILE": "",
        "REPORT_CHAT_PORT_80_TCP": "tcp://10.3.0.7",
    }
    assert misspelt_settings(environ) == [
        ("TOPK", "TOP_K"),
        ("REPORT_CHAT_MONGODB_URL", "MONGODB_URI"),
    ]


@pytest.fixture
def dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        "chatbot.config.settings.find_dotenv", lambda **_: str(tmp_path / ".env")
    )
    monkeypatch.setenv("PYTHON_DOTENV_DISABLED", "0")
    return tmp_path / ".env"


def test_what_a_desktop_says_to_gettext_is_no_setting(
    dotenv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, language in (("", "english"), ("LANGUAGE=french", "french")):
        monkeypatch.setenv("LANGUAGE", "en_US:en")
        dotenv.write_text(content, encoding="utf-8")
        assert Settings.from_env().language == language


def test_a_file_that_is_no_text_is_named_and_not_shown(dotenv: Path) -> None:
    dotenv.write_text(f"OPENAI_API_KEY={SECRET}", encoding="utf-16")
    with pytest.raises(SettingsError, match=r"\.env is not UTF-8") as raised:
        Settings.from_env()
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


def test_no_test_reads_the_developers_environment() -> None:
    assert Settings.from_env() == Settings(extras=("none",))


def test_an_address_of_ipv6_is_known_with_and_without_brackets() -> None:
    assert (
        Settings.from_env({"HOST": "[::1]"}).host
        == Settings.from_env({"HOST": "::1"}).host
        == "::1"
    )


def test_every_wrong_value_is_named_not_only_the_first() -> None:
    with pytest.raises(SettingsError, match=r"PORT='x'.*TOP_K='99'"):
        Settings.from_env({"PORT": "x", "TOP_K": "99"})


def test_override_checks_like_the_first_time_and_leaves_the_original() -> None:
    settings = Settings()
    assert settings.override(top_k=7).top_k == 7
    assert settings.top_k == 5
    with pytest.raises(SettingsError, match="TOP_K=0"):
        settings.override(top_k=0)


def test_a_secret_is_in_no_error_and_no_repr() -> None:
    environ = {
        "OPENAI_API_KEY": f"sk-{SECRET}",
        "MONGODB_URI": f"mongodb://user:{SECRET}@host/",
    }
    assert SECRET not in repr(Settings.from_env(environ))
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({**environ, "TOP_K": "0", "THRESHOLD_FLOOR": "1"})
    assert SECRET not in str(raised.value)
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL: ") as raised:
        Settings.from_env({"OPENAI_BASE_URL": f"user:{SECRET}@host/v1"})
    assert SECRET not in str(raised.value)
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({}, mongodb_uri=[SECRET], openai_api_key=[SECRET])  # type: ignore[arg-type]
    assert "MONGODB_URI: " in raised.value.message
    assert "OPENAI_API_KEY: " in raised.value.message
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "uri",
    [
        f"mongodb://user:{SECRET}@",
        f"postgres://user:{SECRET}@host/db",
        f"mongodb://{SECRET}:x:y/",
    ],
)
def test_an_unusable_connection_string_is_named_but_not_shown(uri: str) -> None:
    with pytest.raises(SettingsError, match="MONGODB_URI") as raised:
        open_database(Settings.from_env({"MONGODB_URI": uri}))
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None

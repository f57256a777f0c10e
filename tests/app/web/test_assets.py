"""The page's files: kept for good under an address with their version, compressed for
whoever takes that.
"""

import gzip
import re

from flask.testing import FlaskClient

from chatbot.app.web.pages import asset_bytes, version_of_files
from chatbot.config import STATIC
from tests.app.web.knowledge import added


def test_what_the_page_names_is_kept_for_good(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    named = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(named) > 5
    for address in named:
        with client.get(address) as response:
            assert response.status_code == 200
            assert (
                response.headers["Cache-Control"]
                == "public, max-age=31536000, immutable"
            )


def test_the_outlines_of_the_map_are_fetched_early_where_one_is_drawn(
    client: FlaskClient,
) -> None:
    assert "world.json" not in client.get("/").get_data(as_text=True)
    for country in ("Kenya", "Mali"):
        file = (f"{country.lower()}.md", f"# {country} 2024\n\nIt rained.\n")
        added(client, file, country_name=country, year="2024")
        page = client.get("/").get_data(as_text=True)
        assert ("world.json" in page) == (country == "Mali")


def test_a_file_of_another_version_is_asked_for_again(client: FlaskClient) -> None:
    with client.get("/static/v/older/js/chat/chat.js") as response:
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "no-cache"
    assert client.get("/static/v/older/js/chat/none.js").status_code == 404
    assert client.get("/static/v/older/../../README.md").status_code == 404


def test_ours_is_sent_without_its_comments_and_with_all_else() -> None:
    for name in ("js/chat/conversation.js", "css/chat.css"):
        lines = (STATIC / name).read_text("utf-8").splitlines()
        sent = gzip.decompress(asset_bytes(name)).decode().splitlines()
        assert len(sent) < len(lines)
        assert not any(line.lstrip().startswith(("/*", "//")) for line in sent)
        code = [line for line in lines if re.search(r"^(?! *\*).*[{}]$", line)]
        assert len(code) > 50
        assert [line for line in sent if line.endswith(("{", "}"))] == code
    vendored = "vendor/marked-18.2.1.js"
    assert gzip.decompress(asset_bytes(vendored)) == (STATIC / vendored).read_bytes()


def test_a_sheet_is_sent_with_those_that_it_imports(client: FlaskClient) -> None:
    folder = STATIC / "css"
    names = re.findall('@import "(.+)";', (folder / "opening.css").read_text("utf-8"))
    assert len(names) > 3
    with client.get(
        f"/static/v/{version_of_files()}/css/opening.css",
        headers={"Accept-Encoding": "gzip"},
    ) as sent:
        text = gzip.decompress(sent.data).decode()
    assert "@import" not in text
    for name in names:
        rule = re.search(r"^[.\w][^{}]+\{", (folder / name).read_text("utf-8"), re.M)
        assert rule
        assert rule[0] in text


def test_text_is_compressed(client: FlaskClient) -> None:
    for path in [
        "/",
        *(
            f"/static/v/{version_of_files()}/{name}"
            for name in ("vendor/marked-18.2.1.js", "words/es.json")
        ),
    ]:
        with client.get(path) as plain:
            plain.get_data()
        packed = client.get(path, headers={"Accept-Encoding": "br, gzip;q=0.8"})
        assert packed.mimetype == plain.mimetype
        assert "Content-Encoding" not in plain.headers
        assert gzip.decompress(packed.data) == plain.data
        assert "Accept-Encoding" in packed.headers["Vary"]
        with client.post(
            "/api/chat", json={"query": "Who?"}, headers={"Accept-Encoding": "gzip, br"}
        ) as stream:
            assert stream.mimetype == "text/event-stream"
            assert "Content-Encoding" not in stream.headers

"""Web pages: the content arrives whole and in order, the furniture of the site and what
is hidden never.
"""

import re
import time
from collections import Counter
from pathlib import Path

import pytest
from lxml import html as lxml_html

from chatbot.domain.errors import LoadError
from chatbot.library.loaders import Fit, Sample
from chatbot.library.loaders.html import (
    MAX_MARKUP,
    STYLES_NOTE,
    HtmlLoader,
    page_sections,
)
from tests.data import cases, data_set, needs

CASES = cases(__file__)

NIGERIA = data_set("sample_corpus", "formats", "nigeria-2024.html")


def read(html: str) -> list[tuple[tuple[str, ...], str]]:
    return [
        (section.path, section.text)
        for section in page_sections(html.encode(), name="page.html").sections
    ]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


@needs(NIGERIA)
def test_every_word_of_a_real_report_arrives() -> None:
    loaded = HtmlLoader().load(NIGERIA)
    assert loaded.title == "Nigeria: Country Report 2024"
    by_path = {section.path: section.text for section in loaded.sections}
    assert by_path["Geography", "Coastline"] == "853 km"
    assert by_path["Geography", "Area"].split("\n\n")[1] == "land: 910,768 sq km"
    main = lxml_html.fromstring(NIGERIA.read_bytes().decode()).find(".//main")
    for line_break in main.iter("br"):
        line_break.tail = f"\n{line_break.tail or ''}"
    names = {path[:depth] for path in by_path for depth in range(1, len(path) + 1)}
    arrived = words(
        " ".join([loaded.title, *(name[-1] for name in names), *by_path.values()])
    )
    wanted = words(" ".join(main.itertext()))
    assert (wanted & arrived).total() >= 0.99 * wanted.total()
    assert not arrived - wanted
    assert "Home" not in arrived


FURNISHED = """<!DOCTYPE html><html><head><title>Kenya | The Site</title><style>p {color: red}</style></head>
<body class="cookie-consent-open with-sidebar">
<div id="cookie-banner" class="cookie-banner"><p>We use cookies.</p><button>Accept</button></div>
<header><a href="/">The Site</a>
<nav><ul><li><a href="/a">Home</a></li><li><a href="/b">Reports</a></li></ul></nav></header>
<div class="breadcrumbs"><a href="/">Start</a> / <a href="/k">Kenya</a></div>
{content}
<aside><h2>Popular</h2><p>Ten things you missed</p></aside>
<div class="share"><a href="#">Post</a> <a href="#">Mail</a></div>
<footer><h2>About us</h2><p>Imprint</p></footer>
<script>var tracked = "script text";</script><noscript>Please enable scripts</noscript>
<template><p>template text</p></template>
</body></html>"""  # noqa: E501
CONTENT = """<h1>Kenya</h1><header><p>By the desk</p></header><p>Fifty-five million people live there, most of them
on farms.</p><h2 class="menu">Market share</h2><p class="share">Tea has a <a href="/t">share</a> of a fifth of what
is exported, as before.</p><div hidden>secret</div><p style="color: red; display:none">secret</p>
<p aria-hidden="true">secret</p>"""  # noqa: E501


@pytest.mark.parametrize("tag", ["main", "article", "div", 'div role="main"'])
def test_only_the_content_of_a_furnished_page_arrives(tag: str) -> None:
    html = FURNISHED.replace("{content}", f"<{tag}>{CONTENT}</{tag.partition(' ')[0]}>")
    loaded = page_sections(html.encode(), name="page.html")
    assert loaded.title == "Kenya"
    text = " ".join(section.text for section in loaded.sections)
    assert ("By the desk" in text) == (
        tag != "div"
    )  # without any mark of the content, a header is the site's
    assert [
        (section.path, " ".join(section.text.split()[-4:]))
        for section in loaded.sections
    ] == [
        ((), "of them on farms."),
        (("Market share",), "is exported, as before."),
    ]
    gone = (
        "cookies Accept Site Home Reports Start Popular missed Post Mail About Imprint "
        "tracked enable template secret"
    )
    assert not words(gone) & words(text)


def test_furniture_inside_of_the_content() -> None:
    html = """<body><main><h1>T</h1><nav>Contents</nav><h2>A<a class="headerlink" href="#a">¶</a></h2><p>Text that is
    long enough to be the content of this page.</p><aside><p>A remark that belongs to it.</p></aside>
    <aside><a href="/x">Read this as well, it is much better</a></aside></main></body>"""  # noqa: E501
    assert read(html) == [
        (
            ("A",),
            (
                "Text that is long enough to be the content of this page.\n\nA remark "
                "that belongs to it."
            ),
        )
    ]


def test_a_page_that_is_all_furniture_by_name_still_arrives() -> None:
    assert read('<body><div class="sidebar"><p>All there is.</p></div></body>') == [
        ((), "All there is.")
    ]


BLOCKS = {
    **CASES["blocks"],
    "a list": (
        "<p>x<ul><li>a<li><p>b</p><ol><li>c</ol></ul><p>y",
        "x\n\n- a\n- b\n  - c\n\ny",
    ),
}


@pytest.mark.parametrize(("html", "text"), BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_a_page_become_paragraphs(html: str, text: str) -> None:
    assert read(f"<body>{html}</body>") == [((), text)]


@pytest.mark.parametrize(
    ("html", "text"), CASES["tables"].values(), ids=CASES["tables"]
)
def test_tables_of_a_page_become_lines(html: str, text: str | None) -> None:
    expected = [((), text)] if text else [(("no path",), "x\n\ny")]
    if text and html.startswith("<caption>"):
        title, _, rows = text.partition("\n")
        expected = [((title,), rows)]
    assert read(f"<body><table>{html}</table></body>") == expected


def test_headings_become_paths() -> None:
    html = "<h1>A</h1>a<h2>B <br>b</h2>b<h3></h3><h4>D</h4>d<h1>E</h1>e"
    assert read(html) == [
        (("A",), "a"),
        (("A", "B b"), "b"),
        (("A", "B b", "D"), "d"),
        (("E",), "e"),
    ]


def test_a_heading_that_is_not_closed_does_not_swallow_the_page() -> None:
    ((path, text),) = read(f"<body><h2>Name<div>{'word ' * 200}</div></body>")
    assert path == ()
    assert text.count("word") == 200


@pytest.mark.parametrize(
    ("head", "body", "title"), CASES["heads"].values(), ids=CASES["heads"]
)
def test_a_page_is_named_by_its_title(head: str, body: str, title: str) -> None:
    html = f"<html><head>{head}</head><body>{body}<p>text</p></body></html>"
    assert page_sections(html.encode(), name="page.html").title == title


def test_the_page_says_what_it_is_about() -> None:
    html = (
        "<head><meta name=description content=' All of\nit '><meta name=keywords "
        "content='a, b,,a'></head><p>x"
    )
    loaded = page_sections(html.encode(), name="page.html")
    assert (loaded.description, loaded.labels) == ("All of it", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "encoding", "head"), CASES["charsets"].values(), ids=CASES["charsets"]
)
def test_a_page_is_read_in_its_charset(text: str, encoding: str, head: str) -> None:
    html = f"{head}<html><body><p>{text}</p></body></html>".encode(encoding)
    assert page_sections(html, name="page.html").sections[0].text == text


def test_one_wrong_byte_does_not_make_a_page_unreadable() -> None:
    html = b"<meta charset=utf-8><p>C\xc3\xb4te \xff d'Ivoire"
    assert (
        page_sections(html, name="page.html").sections[0].text == "Côte \ufffd d'Ivoire"
    )


REFUSED = {
    "nothing": (b"", "has no text"),
    "no words": (b"<html><body><script>x</script></body></html>", "has no text"),
    "a comment": (b"<!-- x -->", "has no text"),
    "an image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not a text file"),
    "too deep": (b"<div>x" * 3000, "nests its elements too deep"),
    "too deep, after errors": (
        b"</foo>&bad" * 500 + b"<div>x" * 3000,
        "nests its elements too deep",
    ),
    "too many tags": (b"<b>" * (MAX_MARKUP + 1), "too large"),
}


@pytest.mark.parametrize(("html", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_page_is_refused_by_name(html: bytes, message: str) -> None:
    with pytest.raises(LoadError, match=rf"^page\.html .*{message}"):
        page_sections(html, name="page.html")


SLOW = {
    "mains in mains": "<main>" * 1500 + "<p>word word" * 20_000,
    "asides": "<aside>" * 1500 + "<p>word word" * 20_000,
    "scripts between words": "<p>" + "<script>x</script>word" * 50_000,
    "cells that reach down": "<table><tr>"
    + "<td rowspan=60000 colspan=64>" * 500
    + "<tr><td>x" * 20_000,
    "tables in tables": "<table><tr><td>" * 600 + "<p>word" * 20_000,
    "open links": "<a>word" * 1900,
}


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("html", SLOW.values(), ids=SLOW)
def test_pages_made_to_take_time_do_not(html: str) -> None:
    start = time.process_time()
    loaded = page_sections(f"<body>{html}".encode(), name="page.html")
    assert time.process_time() - start < 30
    assert sum(len(section.text) for section in loaded.sections) < 20 * len(html)


SEEN = "Tea is grown in the hills."
UNSEEN_STYLES = """
display:none|visibility:hidden|font-size:0|font-size: 0px !important|font-size:1px|font-size:.01em|opacity:0|opacity:0.0
color:#fff|color:white|color: #FFFFFF|color:#fefefe|color:rgb(255, 255, 255)|color:rgba(0,0,0,0)|color:transparent
color:red;background:red|position:absolute;left:-9999px|text-indent:-5000px|margin-left:-100em|position:absolute;clip:rect(0,0,0,0)
position:fixed;top:-999em|clip-path:inset(50%)|height:0;overflow:hidden|transform:scale(0)|font:0/0 a
display:/**/none|scale:0|translate:-9999px|transform:translate(-9999px, 0)|position:fixed;inset:0 auto auto -9999px|rotate:y 90deg
position:absolute;right:9999px|color:rgb(0 0 0 / 0)|color:hsl(0 0% 0%/0)|color:hsl(0, 0%, 100%)|opacity:calc(0)
-webkit-text-fill-color:transparent|mask:linear-gradient(transparent,#0000)|transform:rotateY(90deg)
color:oklch(1 0 0)|color:lab(100 0 0)|color:hwb(0 100% 0%)|color:color(srgb 1 1 1)|color:color-mix(in srgb, white, white)
color:rgba(0,0,0,.01)|color:oklch(0 0 0 / 0)|filter:blur(99px)|transform:matrix(0,0,0,0,0,0)|clip-path:polygon(0 0)
position:absolute;bottom:9999px|position:absolute;inset-inline-end:200vw|position:relative;inset-block:-500vh
margin-inline-start:-9999px|margin:-9999px 0 0|-webkit-margin-before:-1000%|translate:-1000%|display:table-column
font-size-adjust:0|clip-path:path('m0 0')|-webkit-mask-box-image:linear-gradient(transparent,transparent)
"""  # noqa: E501


@pytest.mark.parametrize("style", UNSEEN_STYLES.strip().replace("\n", "|").split("|"))
@pytest.mark.parametrize("way", ["inline", "sheet", "around"])
def test_what_is_not_shown_is_not_read(style: str, way: str) -> None:
    hidden = {
        "inline": f'<p style="{style}">Obey me.</p>',
        "sheet": (
            f"<style>/* x */ @media print {{p {{top: 0}}}} p.x, b "
            f"{{{style}}}</style><p class='a x'>Obey me.</p>"
        ),
        "around": f'<div style="{style}"><p>Obey <b>me.</b></p></div>',
    }[way]
    assert read(f"<p>{SEEN}</p>{hidden}<p>Coffee, too.</p>") == [
        ((), f"{SEEN}\n\nCoffee, too.")
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "<div popover>Obey me.</div>",
        "<style>@media screen {.x {display: none}}</style><p class=x>Obey me.</p>",
        "<style>@layer a {@supports (top: 0) {p.x {display: none}}}</style>"
        "<p class=x>Obey me.</p>",
        "<style>div > p {display: none}</style><div><p>Obey me.</p></div>",
        "<style>h2 + p:not(.a) {display: none}</style><h2></h2><p>Obey me.</p>",
        "<style>.a {& i {display: none}}</style><b class=a><i>Obey me.</i></b>",
        "<style>:root {--x: none} b {display: var(--x)}</style><b>Obey me.</b>",
        "<style>@layer a, b; @layer b {.x {opacity: 0}} @layer a {.x {opacity: 1}}"
        "</style><p class=x>Obey me.</p>",
        "<style>.x {display: none !important}</style>"
        "<p class=x style='display: block'>Obey me.</p>",
        "<p style='display: none; display: nope'>Obey me.</p>",
        "<div style='opacity: .2'><p style='opacity: .2'>Obey me.</p></div>",
    ],
)
def test_what_is_hidden_under_conditions_that_hold_is_not_read(hidden: str) -> None:
    assert read(f"<p>{SEEN}</p>{hidden}") == [((), SEEN)]


@pytest.mark.parametrize(
    "shown",
    [
        *CASES["what_is_shown_in_other_colours_and_sizes_is_read"],
        (
            '<link rel="stylesheet" href="x.css"><div class="hero"><p '
            'style="color:white">Read me.</p></div>'
        ),
    ],
)
def test_what_is_shown_in_other_colours_and_sizes_is_read(shown: str) -> None:
    assert read(shown) == [((), "Read me.")]


@pytest.mark.parametrize(
    "style",
    [
        "left:-9999px",
        "inset:-500px",
        "clip:rect(0,0,0,0)",
        "margin-bottom:-9999px;padding-bottom:9999px",
        "margin:0 auto -9999px",
        "background:rgba(0,0,0,.01)",
        "color:oklch(0.2 0 0)",
        "color:lab(1 0 0)",
        "color:rgb(0, 0, 0)",
        "filter:blur(1px)",
        "clip-path:polygon(0 0, 100% 0, 100% 100%)",
        "position:absolute;left:-10em",
        "position:absolute;bottom:100%",
        "position:relative;top:-99px",
        "translate:-50% -50%",
        "font-size-adjust:none",
    ],
)
def test_what_chromium_shows_is_read(style: str) -> None:
    assert read(f'<p style="{style}">{SEEN}</p>') == [((), SEEN)]


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "sheet",
    [
        "@" * 400_000,
        "/*" * 200_000,
        "a" * 400_000 + "}",
        "a{" * 200_000,
        "a," * 100_000 + "{" + "color:red;" * 20_000 + "}",
    ],
)
def test_a_sheet_that_is_made_to_take_time_does_not(sheet: str) -> None:
    page = f"<style>{sheet}</style><p class='a'>{SEEN}</p>"
    started = time.process_time()
    assert read(page) == [((), SEEN)]
    assert time.process_time() - started < 10


def test_styles_of_their_own_for_every_paragraph_are_read() -> None:
    """As programs write them that turn PDF and Word files into pages."""
    style = "position:absolute;top:{0}px;left:{1}px;white-space:nowrap;color:#12{2}"
    lines = [
        f'<p style="{style.format(line, 72 + line % 5, line % 10)}">Line {line}'
        for line in range(20_000)
    ]
    lines.append('<p style="top:9px;display:none">Hidden')
    text = "".join(text for _, text in read("".join(lines)))
    assert "Line 19999" in text
    assert "Hidden" not in text


def test_a_page_whose_styles_are_too_much_is_read_with_a_note() -> None:
    """What its elements say themselves still counts."""
    rows = "<tr><td>Cell</td></tr>" * 1500
    page = (
        "<style>tr:nth-of-type(even) td {color: red}</style>"
        f"<p style='display:none'>Hidden</p><p>{SEEN}</p><table>{rows * 2}</table>"
    )
    loaded = page_sections(page.encode(), name="page.html")
    text = "".join(section.text for section in loaded.sections)
    assert loaded.notes == (STYLES_NOTE,)
    assert SEEN in text
    assert "Hidden" not in text


def test_where_a_page_begins_is_found_in_linear_time() -> None:
    """A comment may end at its first --> only: else thirty of them could be read in a
    billion ways.
    """
    began = time.process_time()
    assert (
        HtmlLoader().fit(Sample(Path("a.txt"), b"", "<!---->" * 5_000 + "x")) is Fit.NO
    )
    assert time.process_time() - began < 1.0
    prologue = (
        "\ufeff <?xml version='1.0'?>\n<!-- a > b -- c -->\n<!---->\n<!DOCTYPE "
        "html><p>It."
    ).lstrip("\ufeff")
    assert HtmlLoader().fit(Sample(Path("a.txt"), b"", prologue)) is Fit.CERTAIN

"""Ten documents of the kinds that other people's programs make: tables, text and forms
that are hard to read.

`write_documents(folder)` makes them. Their questions, with the right answers, are in
tests/library/data/foreign.json. Everything in them is invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from openpyxl.utils import get_column_letter
from pptx.opc.package import Part as SlidePart
from pptx.util import Inches

from tests.library.loaders.pdfs import HEIGHT, Page, write

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_DGM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_documents(folder: Path) -> list[Path]:
    """Write the ten documents to ``folder`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    writers = {
        "tamarind-databook.pdf": _databook,
        "orlan-census.pdf": _census,
        "kestrel-bulletin.pdf": _bulletin,
        "velmar-emissions.html": _emissions,
        "sorrel-plan.docx": _plan,
        "marina-needs.xlsx": _needs,
        "quill-budget.xlsx": _budget,
        "harbour-prices.csv": _prices,
        "pillars.pptx": _pillars,
        "ferrol-memoire.md": _memoire,
    }
    for name, writer in writers.items():
        writer(folder / name)
    return [folder / name for name in writers]


def _ruled_twice(
    page: Page, xs: Sequence[float], ys: Sequence[float], *, gap: float = 4
) -> None:
    """Borders of two hair lines: between them lie columns and rows of four points."""
    for y in ys:
        page.rule(xs[0], y, xs[-1] + gap, y).rule(xs[0], y + gap, xs[-1] + gap, y + gap)
    for x in xs:
        page.rule(x, ys[0], x, ys[-1] + gap).rule(x + gap, ys[0], x + gap, ys[-1] + gap)


def _databook(path: Path) -> None:
    """Double borders, a heading on two lines, columns FY 2021 to FY 2024, a table that
    goes on on the next page.
    """
    first = Page().text(72, 80, "Tamarind Water Company: data book", size=20, bold=True)
    first.lines(
        72,
        110,
        [
            (
                "This data book gives the operating and financial figures of the "
                "Tamarind Water Company for four"
            ),
            (
                "fiscal years. The fiscal year ends on 30 June. Figures for FY 2024 "
                "have not been audited yet because"
            ),
            "the auditor was replaced in May.",
        ],
    )
    first.text(72, 165, "Environment", size=14, bold=True)
    xs = [72, 250, 325, 400, 475, 548]
    rows = [
        ("", "FY 2021", "FY 2022", "FY 2023", "FY 2024"),
        ("Energy used (GWh)", "41.2", "43.9", "44.7", "46.3"),
        ("Water lost in pipes (%)", "31.5", "29.8", "27.4", "24.9"),
        ("Fleet vehicles", "212", "219", "198", "187"),
        ("Lost-time injuries", "17", "12", "9", "11"),
    ]
    _ruled_twice(first, xs, [180 + 24 * at for at in range(6)])
    for at, row in enumerate(rows):
        first.row(
            198 + 24 * at,
            [(x + 8, cell) for x, cell in zip(xs, row, strict=False)],
            bold=at == 0,
        )
    first.text(72, 340, "Payments by depot", size=14, bold=True)
    xs = [72, 200, 320, 440, 540]
    heads = [
        ("Depot", ""),
        ("Connection", "Payments"),
        ("Repair", "Costs"),
        ("Meters", "Replaced"),
    ]
    first.grid(xs, [350, 384, *range(404, 525, 20)])
    for x, (upper, lower) in zip(xs, heads, strict=False):
        first.text(x + 6, 364, upper, bold=True).text(x + 6, 378, lower, bold=True)
    depots = [
        ("Alder", "1,204,550", "388,120", "2,310"),
        ("Birch", "986,410", "401,775", "1,875"),
        ("Cedar", "1,530,020", "512,660", "3,042"),
        ("Dogwood", "744,900", "275,310", "1,196"),
        ("Elder", "1,118,375", "366,045", "2,058"),
        ("Fir", "659,215", "240,880", "987"),
    ]
    for at, row in enumerate(depots):
        first.row(
            418 + 20 * at, [(x + 6, cell) for x, cell in zip(xs, row, strict=False)]
        )
    first.text(72, 560, "Tariffs by district", size=14, bold=True)
    districts = [
        ("Northbank", "1.85"),
        ("Southbank", "1.92"),
        ("Old Town", "2.10"),
        ("Harbour", "2.35"),
    ]
    first.grid([72, 220, 340], [640, 660, 680, 700, 720, 740])
    for at, row in enumerate([("District", "Tariff per m3"), *districts]):
        first.row(654 + 20 * at, [(78, row[0]), (226, row[1])], bold=at == 0)
    second = Page()
    second.grid([72, 220, 340], [60, 80, 100, 120])
    for at, row in enumerate(
        [("Hillside", "1.64"), ("Mill Lane", "1.71"), ("Airport", "2.80")]
    ):
        second.row(74 + 20 * at, [(78, row[0]), (226, row[1])])
    second.lines(
        72,
        160,
        [
            (
                "The tariff of the airport is the highest because its pipes were laid "
                "by a private investor, who has to"
            ),
            "be repaid until 2031.",
        ],
    )
    write(path, [first, second])


def _census(path: Path) -> None:
    """A bordered table whose first row holds figures, a borderless table, a sum that is
    printed with superscripts.
    """
    page = Page().text(72, 80, "Census of Orlan 2022: main results", size=20, bold=True)
    page.lines(
        72,
        110,
        [
            (
                "The census counted 2.4 million people in Orlan on 14 August 2022. "
                "Enumerators could not reach the"
            ),
            (
                "island of Brisk because of a storm, so its population was estimated "
                "from satellite pictures."
            ),
        ],
    )
    page.text(72, 155, "Households by kind of dwelling", size=14, bold=True)
    page.grid([72, 260, 360, 460], [170 + 20 * at for at in range(6)])
    dwellings = [
        ("Detached house", "184,220", "41.6"),
        ("Flat", "152,875", "34.5"),
        ("Hut or tent", "61,040", "13.8"),
        ("Boat", "8,315", "1.9"),
        ("Other dwelling", "36,390", "8.2"),
    ]
    for at, row in enumerate(dwellings):
        page.row(184 + 20 * at, [(78, row[0]), (270, row[1]), (370, row[2])])
    page.text(72, 310, "Population by province and sex", size=14, bold=True)
    page.row(332, [(300, "Men"), (380, "Women"), (460, "Total")], bold=True)
    provinces = [
        ("Upper Orlan", "310,402", "322,118", "632,520"),
        ("Lower Orlan", "415,980", "430,275", "846,255"),
        ("East Marches", "268,114", "271,906", "540,020"),
        ("Brisk and the Islands", "189,450", "191,755", "381,205"),
    ]
    for at, row in enumerate(provinces):
        page.row(
            350 + 16 * at, [(72, row[0]), (300, row[1]), (380, row[2]), (460, row[3])]
        )
    page.text(72, 450, "Literacy", size=14, bold=True)
    page.text(72, 470, "Of the people above 15, 88.4 percent could read in 2022").text(
        322.4, 466, "4", size=6
    )
    page.text(328, 470, "and 79.1 percent in 2012.")
    page.lines(
        72,
        490,
        [
            (
                "Women caught up because evening schools were opened in every province "
                "after 2014."
            )
        ],
    )
    page.text(72, 520, "4 Measured by a reading test.", size=7)
    write(path, [page])


def _bulletin(path: Path) -> None:
    """Contents with dot leaders, moving footers, contacts, wide leading, a watermark,
    pages that are pictures.
    """
    pages = []
    contents = Page().text(72, 90, "Kestrel Health Bulletin 2023", size=22, bold=True)
    contents.text(72, 140, "Contents", size=14, bold=True)
    for at, (name, number) in enumerate(
        [
            ("Summary", 2),
            ("Measles", 3),
            ("Cholera", 4),
            ("Malaria", 5),
            ("Contacts", 8),
        ]
    ):
        contents.text(
            72, 170 + 18 * at, f"{at + 1}. {name} {'.' * (70 - len(name))} {number}"
        )
    pages.append(contents)
    bodies = [
        (
            "Summary",
            [
                "The bulletin follows four diseases in the nine districts of Kestrel.",
                "In 2023 measles came "
                "back after six years, cholera was contained in two",
                "districts, and malaria declined for the third year in a row.",
                (
                    "The most important measure of the year was the vaccination of "
                    "412,000 children."
                ),
            ],
        ),
        (
            "Measles",
            [
                (
                    "Measles broke out in Farrow in February 2023 and reached five "
                    "districts."
                ),
                "The ministry counted "
                "3,418 cases and 29 deaths. The outbreak began because the",
                "cold chain had failed during the blackout of "
                "the year before, so that vaccines spoiled.",
            ],
        ),
        (
            "Cholera",
            [
                "Cholera was found in 212 people in Dunmore and in 87 people in Ashby.",
                "No one died of it. "
                "Wells were chlorinated within four days of the first case.",
            ],
        ),
        (
            "Malaria",
            [
                "Malaria fell from 18,940 cases in 2022 to 15,275 cases in 2023.",
                "The decline is explained by "
                "the nets that were handed out before the rains.",
            ],
        ),
    ]
    for name, lines in bodies:
        page = Page().text(72, 80, name, size=14, bold=True)
        page.lines(72, 115, lines, leading=26)
        for place, letter in enumerate("DRAFT"):
            x, y = 150 + 55 * place, HEIGHT - 560 + 60 * place
            page.ops.append(
                f"BT /F2 70 Tf .7 .7 -.7 .7 {x} {y} Tm <{letter.encode().hex()}> Tj ET"
            )
        pages.append(page)
    pages += [Page().scan(), Page().scan()]
    contacts = Page().text(72, 80, "Contacts", size=14, bold=True)
    people = [
        ("Dr Mina Ode, surveillance of measles and cholera", "+555 11 204 7781"),
        ("Mr Tor Vale, malaria and nets", "+555 11 204 7782"),
        ("Ms Ira Sun, vaccination of children", "+555 11 204 7790"),
    ]
    for at, (name, number) in enumerate(people):
        contents_y = 110 + 40 * at
        contacts.text(72, contents_y, name).text(
            72, contents_y + 13, f"Tel. {number}, bulletin{at}@kestrel.example"
        )
    pages.append(contacts)
    for at, page in enumerate(pages, start=1):
        page.text(
            72 + 3 * (at % 3),
            748 + 7 * (at % 4),
            f"Kestrel Health Bulletin 2023, cholera measles malaria | {at}",
            size=8,
        )
    write(path, pages)


def _emissions(path: Path) -> None:
    path.write_text(
        """<!doctype html><html><head><title>Emissions of Velmar</title></head><body><main>
<h1>Emissions of Velmar</h1>
<p>Velmar emitted 5.5 × 10<sup>7</sup> tonnes of CO<sub>2</sub> in 2023<sup>4</sup>, of which transport caused
31<sup>a</sup> percent. The target for 2030 is <del>40</del><ins>36</ins> million tonnes.</p>
<h2>Gases</h2>
<table><tr><th rowspan="2">Sector</th><th colspan="2">CO<sub>2</sub> (Mt)</th><th colspan="2">SO<sub>x</sub>
(kt)</th></tr>
<tr><th>2022</th><th>2023</th><th>2022</th><th>2023</th></tr>
<tr><td>Power<sup>1</sup></td><td>21.4</td><td>19.8<sup>b</sup></td><td>64</td><td>58</td></tr>
<tr><td>Transport</td><td>16.9</td><td>17.1</td><td>12</td><td>11</td></tr>
<tr><td>Farming</td><td>8.2</td><td>8.0</td><td>2</td><td>2</td></tr></table>
<p>Power stations emitted less because the last coal unit at Grell was closed in March.</p>
</main></body></html>""",  # noqa: E501
        encoding="utf-8",
    )


def _plan(path: Path) -> None:
    """Automatic numbers, superscripts, a symbol, a text box in a cell, an embedded HTML
    part, deleted text.
    """
    document = docx.Document()
    document.add_heading("Development plan of Sorrel 2024 to 2028", 0)
    document.add_paragraph(
        "The plan has three pillars: roads, schools and clean water. It was "
        "adopted on 12 March 2024 after hearings in "
        "all eleven communes."
    )
    numbering = document.part.numbering_part.element
    numbering.insert(
        0,
        parse_xml(
            f'<w:abstractNum xmlns:w="{_W}" w:abstractNumId="90"><w:multiLevelType '
            'w:val="multilevel"/>'
            '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt '
            'w:val="decimal"/><w:lvlText w:val="%1"/></w:lvl>'
            '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt '
            'w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
            '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt '
            'w:val="upperLetter"/><w:lvlText w:val="Measure %3:"/></w:lvl>'
            "</w:abstractNum>"
        ),
    )
    numbering.append(
        parse_xml(
            f'<w:num xmlns:w="{_W}" w:numId="91"><w:abstractNumId w:val="90"/></w:num>'
        )
    )

    def numbered(paragraph: Any, level: int) -> Any:
        properties = (
            f'<w:numPr xmlns:w="{_W}"><w:ilvl w:val="{level}"/><w:numId '
            'w:val="91"/></w:numPr>'
        )
        paragraph._p.get_or_add_pPr().append(parse_xml(properties))
        return paragraph

    numbered(document.add_heading("Roads", 1), 0)
    numbered(document.add_heading("Bridges", 2), 1)
    document.add_paragraph(
        "Nine bridges are to be rebuilt until 2026 at a cost of 41 million crowns."
    )
    numbered(document.add_heading("Gravel roads", 2), 1)
    roads = document.add_paragraph(
        "Gravel roads are graded twice a year, 640 km in 2023"
    )
    roads.add_run("2").font.superscript = True
    roads.add_run(" and 710 km from 2024 on.")
    numbered(document.add_heading("Water", 1), 0)
    for text in (
        "Dig 54 wells in the dry communes.",
        "Test every well for arsenic twice a year.",
    ):
        numbered(document.add_paragraph(text), 2)
    water = document.add_paragraph("The reservoir holds 3.2 × 10")
    water.add_run("6").font.superscript = True
    water.add_run(" m")
    water.add_run("3").font.superscript = True
    water.add_run(" of water; its depth is ")
    symbol = f'<w:r xmlns:w="{_W}"><w:sym w:font="Symbol" w:char="F0B3"/></w:r>'
    water._p.append(parse_xml(symbol))
    water.add_run(" 14 metres.")
    deleted = (
        f'<w:del xmlns:w="{_W}" w:id="1" w:author="x"><w:r><w:delText> The dam '
        "leaks.</w:delText></w:r></w:del>"
    )
    water._p.append(parse_xml(deleted))
    table = document.add_table(rows=3, cols=3)
    for row, cells in zip(
        table.rows,
        [("Commune", "Schools", "Pupils"), ("Arden", "14", "3,905"), ("Bray", "9", "")],
        strict=True,
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    box = f"""<w:r xmlns:w="{_W}"><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox><w:txbxContent>
        <w:p><w:r><w:t>2,718</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>"""  # noqa: E501
    table.rows[2].cells[2].paragraphs[0]._p.append(parse_xml(box))
    html = (
        b"<html><body><p>The schools of Sorrel lack teachers because salaries were "
        b"frozen in 2021; "
        b"the plan raises them by 12 percent.</p></body></html>"
    )
    part = Part(
        PackURI("/word/afchunk1.html"), "text/html", html, document.part.package
    )
    identifier = document.part.relate_to(part, RELATIONSHIP_TYPE.A_F_CHUNK)
    body = document.element.body
    body.insert(
        len(body) - 1,
        parse_xml(f'<w:altChunk xmlns:w="{_W}" xmlns:r="{_R}" r:id="{identifier}"/>'),
    )
    document.save(str(path))


def _needs(path: Path) -> None:
    """As humanitarian data is exchanged: a title, two heading rows with merged groups,
    a row of HXL tags.
    """
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Needs"
    sheet.append(["Humanitarian needs in Marina, 2024"])
    sheet.append(
        ["Province", "District", "People in need", None, "People reached", None]
    )
    sheet.append([None, None, "Food", "Water", "Food", "Water"])
    sheet.append(
        [
            "#adm1+name",
            "#adm2+name",
            "#affected+food",
            "#affected+water",
            "#reached+food",
            "#reached+water",
        ]
    )
    sheet.append(["Coast", "Pell", 45210, 38800, 30115, 21040])
    sheet.append([None, "Quay", 12905, 15400, 11200, 9800])
    sheet.append([None, "Rill", 8120, 9055, 7600, 4310])
    sheet.append(["Inland", "Stow", 61330, 70210, 40225, 38120])
    sheet.append([None, "Tarn", 22480, 19990, 18300, 15750])
    for merged in ("C2:D2", "E2:F2", "A2:A3", "B2:B3", "A5:A7", "A8:A9"):
        sheet.merge_cells(merged)
    book.save(path)


def _budget(path: Path) -> None:
    """Number formats, hidden rows and columns, formulas without stored results."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Budget"
    rows: list[list[Any]] = [
        [
            "Code",
            "Department",
            "Budget 2024",
            "Share",
            "Draft 2025",
            "Adopted",
            "Growth",
        ],
        ["0071", "Parks", 1250000, 0.125, 999, date(2023, 11, 28), "=C2*0.02"],
        ["0072", "Streets", 4480000, 0.448, 999, date(2023, 11, 28), "=C3*0.02"],
        ["0073", "Old museum", 777000, 0.077, 999, date(2023, 11, 28), "=C4*0.02"],
        [81, "Libraries", 930500.5, 0.093, 999, date(2023, 12, 5), "=C5*0.02"],
        [82, "Ferries", 2575000, 0.2575, 999, date(2023, 12, 5), "=C6*0.02"],
    ]
    for row in rows:
        sheet.append(row)
    for at in range(2, 7):
        sheet.cell(at, 3).number_format = '"€" #,##0.00'
        sheet.cell(at, 4).number_format = "0.0%"
        if at > 4:
            sheet.cell(at, 1).number_format = "0000"
    sheet.row_dimensions[4].hidden = True
    sheet.column_dimensions[get_column_letter(5)].hidden = True
    lengths = book.create_sheet("Pipes")
    lengths.append(["Pipe", "Length"])
    for name, length in (("Main east", 12.5), ("Main west", 8.25)):
        lengths.append([name, length])
    for at in (2, 3):
        lengths.cell(at, 2).number_format = '0.00" km"'
    book.create_sheet("Secret").append(["Hidden", "sheet"])
    book["Secret"].sheet_state = "hidden"
    book.save(path)


def _prices(path: Path) -> None:
    """As Excel writes it in Europe: the separator named in the first line, commas in
    numbers, cp1252.
    """
    lines = [
        "sep=;",
        "Market;Good;Price;Unit",
        "Harbour;Rice;1,35;€/kg",
        "Harbour;Cassava;0,48;€/kg",
        "Castle Gate;Rice;1,52;€/kg",
        "Castle Gate;Lamp oil;2,10;€/litre",
    ]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))


def _pillars(path: Path) -> None:
    """A slide whose text is a SmartArt graphic, and one with subscripts."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Strategy of the Lumen Fund"
    points = (
        "Lend to women who farm",
        "Insure harvests against drought",
        "Train local auditors",
    )
    texts = "".join(
        (
            "<dgm:pt "
            f'modelId="{at}"><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        )
        for at, text in enumerate(points, start=1)
    )
    data = (
        f'<dgm:dataModel xmlns:dgm="{_DGM}" '
        f'xmlns:a="{_A}"><dgm:ptLst>{texts}</dgm:ptLst></dgm:dataModel>'
    )
    kind = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    part = SlidePart(
        pptx.opc.packuri.PackURI("/ppt/diagrams/data1.xml"),
        kind,
        slide.part.package,
        data.encode(),
    )
    identifier = slide.part.relate_to(part, f"{_R}/diagramData")
    slide.shapes._spTree.append(
        pptx.oxml.parse_xml(
            "<p:graphicFrame "
            'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
            f'xmlns:a="{_A}" '
            f'xmlns:r="{_R}"><p:nvGraphicFramePr><p:cNvPr id="9" '
            'name="Diagram"/><p:cNvGraphicFramePr/><p:nvPr/>'
            '</p:nvGraphicFramePr><p:xfrm><a:off x="1" y="1"/><a:ext cx="9" '
            'cy="9"/></p:xfrm><a:graphic>'
            f'<a:graphicData uri="{_DGM}"><dgm:relIds xmlns:dgm="{_DGM}" '
            f'r:dm="{identifier}"/></a:graphicData></a:graphic>'
            "</p:graphicFrame>"
        )
    )
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Climate results of the Lumen Fund"
    frame = second.shapes.add_textbox(
        Inches(1), Inches(2), Inches(6), Inches(2)
    ).text_frame
    paragraph = frame.paragraphs[0]
    for text, baseline in (
        ("The fund saved 1.8 × 10", 0),
        ("5", 30000),
        (" tonnes of CO", 0),
        ("2", -25000),
        (" in 2023", 0),
        ("3", 30000),
        (" with 940 solar pumps.", 0),
    ):
        run = paragraph.add_run()
        run.text = text
        if baseline:
            run.font._element.set("baseline", str(baseline))
    presentation.save(str(path))


def _memoire(path: Path) -> None:
    """UTF-8 with one line that another program added in latin-1."""
    text = """# Mémoire de la commune de Ferrol

La commune de Ferrol a rénové 38 écoles en 2023 grâce à un prêt de 4,6 millions d’euros.

L’été a été très sec : la rivière Aude n’a coulé que 41 jours.

"""
    stray = (
        "Note ajoutée : la mairie a fermé deux crèches parce que les toits étaient "
        "dangereux.\n"
    )
    path.write_bytes(
        text.encode()
        + stray.encode("latin-1")
        + "\nLe maire s’appelle Agnès Bérou.\n".encode()
    )

"""What is computed from the cells of own sheets: changes, differences, ratios, shares
and means; and what is not computed says so instead of showing one cell.
"""

from collections.abc import Callable, Iterator

import pytest

from chatbot.answering.flow import Flow
from chatbot.domain import Answer, Scope
from chatbot.domain.figure_query import FigureQuery
from chatbot.questions.computations import read_computations
from tests.answering.modes.conftest import answers_of, services_of_sheets

SHEETS = {
    "loans.csv": "Month,Loans,Amount (EUR),Defaults\nJanuary,240,9600,12\n"
    "February,250,9900,9\nJune,312,13440,13\n",
    "nurses.csv": "County,Clinic,Visits,Nurses,Doctors\nTurkana,Lodwar,800,14,3\n"
    "Turkana,Kakuma,600,10,2\nGarissa,Dadaab,900,13,2\n",
    "town.csv": "Department,2023,2024\nRoads,400,500\nParks,120,90\nWater,300,310\n",
    "meals.csv": "Town,Schools,Pupils,Meals per day\nOro,505,84200,81300\n"
    "Luz,312,51700,50100\n",
    "shop.csv": "Month,Sales,Customers\n2023-10,800,80\n2023-11,900,90\n"
    "2023-12,700,70\n2024-01,500,45\n2024-11,950,91\n",
    "ventes.csv": "Mois;Recettes;Clients\n2024-01;400;20\n2024-02;500;40\n",
    "aid.csv": "Area,Households planned,Served\nNorth,1201,410\nSouth,981,395\n",
    "goats.csv": "Goat,Pen,Weight (kg)\nMira,North,41.5\nBruno,South,52\n",
    "lluvia.csv": "Estación;Lluvia (mm);Días secos\nNorte;100;30\nCosta;300;10\n",
}


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    """The flow of a library of these sheets."""
    folder = tmp_path_factory.mktemp("sums")
    with services_of_sheets(folder, SHEETS) as keyless:
        yield keyless.everything.flow


@pytest.fixture(scope="module")
def ask(flow: Flow) -> Callable[[str], Answer]:
    """Answers from these sheets."""
    return answers_of(flow)


def test_a_ratio_is_drawn_as_itself(ask: Callable[[str], Answer]) -> None:
    card = ask("How many visits per nurse in Kakuma?").card
    assert card is not None
    assert (card.result, card.how) == ("60", "600 / 10")
    shown = [(one.subject, one.indicator, one.text) for one in card.figures]
    assert shown == [("Kakuma", "Visits / Nurses", "60")]


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "By how many percent did loans grow from January to June?",
            "January → June, Loans: rose by 30%: (312 - 240) / 240 [1][2].",
        ),
        (
            "By how much did defaults fall between January and February?",
            "January → February, Defaults: fell by 3: 9 - 12 [1][2].",
        ),
        (
            "What share of loans defaulted in January?",
            "January, Defaults / Loans: 5%, from 12 / 240 [1].",
        ),
        (
            "How many visits per nurse in Kakuma?",
            "Kakuma, Visits / Nurses: 60, from 600 / 10 [1].",
        ),
        (
            "How many visits were there per county?",
            "Highest Visits: Turkana, 1,400 (sum of 2) [1][2]. Of 2 rows",
        ),
        (
            "Which clinic has the most visits per doctor?",
            "Highest Visits / Doctors: Dadaab, 450 (900 / 2) [1]. Of 3 rows",
        ),
        (
            "What percentage of visits was in Turkana?",
            "Turkana, Visits: 60.87%, from (800 + 600) / 2,300 [1][2][3].",
        ),
        (
            "How many more visits did Dadaab have than Lodwar?",
            "Dadaab - Lodwar, Visits: 100, from 900 - 800 [1][2].",
        ),
        (
            "How much heavier is Bruno than Mira?",
            "Bruno - Mira, Weight (kg): 10.5 kg, from 52 kg - 41.5 kg [1][2].",
        ),
        (
            "How many nurses and doctors does Lodwar have together?",
            "Lodwar, Nurses + Doctors: 17, from 14 + 3 [1].",
        ),
        (
            "What is the average of 2023 and 2024 for roads?",
            "Roads, town: 450, from 900 / 2 [1].",
        ),
        (
            "Which department grew the most?",
            "Highest town, 2023 → 2024: Roads, 100 (500 - 400) [1]. Of 3 rows",
        ),
        (
            "What share of the 2024 town goes to roads?",
            "Roads, 2024, town: 55.56%, from 500 / 900 [1][2][3].",
        ),
        ("How many meals a day in Oro's schools?", "Oro, meals per day: 81300 [1]"),
        ("How many pupils per school in Luz?", "Luz, Pupils / Schools: 165.71, from"),
        (
            "De combien de pour cent les recettes ont-elles augmenté de janvier "
            "à février ?",
            "2024-01 → 2024-02, Recettes : a augmenté de 25%",
        ),
        (
            "Combien de recettes par client en janvier ?",
            "2024-01, Recettes / Clients : 20, de 400 / 20 [1].",
        ),
        (
            "¿Qué porcentaje de la lluvia cayó en Costa?",
            "Costa, Lluvia (mm): 75",
        ),
    ],
)
def test_what_a_question_asks_is_computed_from_the_cells(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    answer = ask(query)
    assert answer.response.startswith(beginning)
    assert answer.answered


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What was the median number of visits?", "median"),
        ("What was the average spend per customer in January 2024?", "per customer"),
        ("What is the ratio of visits in Kakuma?", "ratio"),
    ],
)
def test_what_is_not_computed_is_no_cell(
    ask: Callable[[str], Answer], query: str, words: str
) -> None:
    answer = ask(query)
    assert answer.response.startswith(f"“{words}” was not computed. The rows of")
    assert not answer.answered
    assert answer.card is None


def test_a_year_that_is_not_over_is_compared_with_no_whole_one(
    ask: Callable[[str], Answer],
) -> None:
    answer = ask("By how much did sales at the shop fall from 2023 to 2024?")
    assert answer.response.startswith("“fall” was not computed. The rows of “shop”")


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "What were sales in November?",
            "2024-11, sales: 950 (2024) [1]. Several years have this month: this",
        ),
        ("How many customers came in December?", "2023-12, customers: 70 (2023) [1]."),
        ("Quelles étaient les recettes en février ?", "2024-02, recettes"),
    ],
)
def test_a_month_without_its_year_is_the_newest(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    assert ask(query).response.startswith(beginning)


def test_rows_that_are_labels_are_subjects_of_a_query(flow: Flow) -> None:
    query = FigureQuery(indicators=("Loans",), subjects=("January", "June"))
    table = flow.tools.figures.queries.run(query, Scope())
    cells = [row.cells[0] for row in table.rows]
    assert [row.subject for row in table.rows] == ["January", "June"]
    assert [cell and cell.text for cell in cells] == ["240", "312"]


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("How much rain fell in May?", []),
        ("Quelle part des ventes ?", ["share"]),
        ("¿Cuántas visitas por enfermera?", ["per"]),
        ("Qual é a diferença entre maio e junho?", ["difference"]),
        ("ما نسبة الزيارات في تركانا؟", ["share"]),
    ],
)
def test_computations_are_read_in_five_languages(query: str, kinds: list[str]) -> None:
    assert [one.kind for one in read_computations(query.lower())] == kinds


def test_words_beside_each_other_are_no_list_of_columns(
    ask: Callable[..., Answer],
) -> None:
    """ "Households served" added up those planned and those served."""
    response = ask("What is the total of households served?").response
    assert "Households planned" not in response.split("\n")[0]
    assert "805" in response.split("\n")[0]

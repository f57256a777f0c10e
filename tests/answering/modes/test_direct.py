"""One retrieval, exactly one generation call, counted at the server (R-E2, R-C4), and
what "nothing found" means.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.answering.writers.advice import OTHER_LANGUAGE
from chatbot.answering.writers.nothing import NO_REPORTS
from chatbot.answering.writers.prose import CLOSEST
from chatbot.app.services import Services, build
from chatbot.domain import Document, Scope, Usage
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.chat import (
    Answer,
    Event,
    QuerySettings,
    Question,
    ScopeSummary,
    SourcesEvent,
    StepEvent,
    TokenEvent,
)
from chatbot.domain.errors import ChatModelError, IngestingError
from chatbot.domain.request import RequestContext
from chatbot.language.words import speaking
from chatbot.library.loaders import loader_for
from chatbot.library.pipeline import Registration
from chatbot.library.sources import Source, make_document
from chatbot.search.relevance import Judge
from tests.answering.modes.conftest import question, scope
from tests.asking import Finished, by_mode
from tests.conftest import AddReport, write_report
from tests.data import cases
from tests.fakes.openai_server import CHAT, PROMPT_TOKENS, FakeOpenAI, Reply
from tests.library.helpers import ingest
from tests.rows import outside

CASES = cases(__file__)


def run(services: Services, asked: Question) -> list[Event]:
    return by_mode(services, asked, request=RequestContext())


def answer(events: list[Event]) -> Answer:
    assert isinstance(events[-1], Finished)
    return events[-1].answer


@pytest.fixture
def strict(services: Services) -> Iterator[Services]:
    """The same data, with a relevance floor that nothing passes."""
    with build(services.settings.override(relevance_floor=0.999)) as opened:
        yield opened


def policy(services: Services, on_empty: str, floor: float = 0.999) -> Services:
    return build(services.settings.override(relevance_floor=floor, on_empty=on_empty))


@pytest.mark.usefixtures("kenya", "mali")
class TestAboutOneReport:
    """No passage is near to "What is this report about?": it is answered all the same,
    from what says most of it.
    """

    ASKED = "What is this report about?"

    def test_a_model_gets_the_passages_that_say_most(
        self, strict: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["It is about gold [1]."]))
        given = answer(
            run(strict, question(self.ASKED, country_name="Mali", year=2021))
        )
        assert given.answered
        assert {hit.chunk.document_name for hit in given.trace.hits} == {
            "Mali: Country Report 2021"
        }
        assert (
            "Gold is the most important export"
            in server.received(CHAT)[-1].body["messages"][-1]["content"]
        )

    def test_without_a_model_the_sentences_of_its_summary_are_quoted(
        self, services: Services, tmp_path: Path
    ) -> None:
        with build(
            services.settings.override(chat_model="extractive", summaries="extractive")
        ) as opened:
            path = tmp_path / "peru.md"
            path.write_text(CASES["peru"], encoding="utf-8")
            ingest(opened, path)
            given = answer(run(opened, question(self.ASKED, document_name="Peru")))
            assert given.answered
            assert given.response.count("“") == 2
            assert (
                "“The country lies on the coast and has a long history of trade.” [1]"
                in given.response
            )
            assert (
                "“Most of the people live in the highlands of the west and of the "
                "south.” [2]"
            ) in given.response

    def test_of_a_short_one_the_beginning_is_quoted_and_no_number_without_a_name(
        self, services: Services, tmp_path: Path
    ) -> None:
        path = tmp_path / "annual_meeting.md"
        title = "Lower Marsh Annual Meeting April 9, 2025, 7pm"
        text = f"{title}\n\nThe president welcomed 26 residents."
        path.write_text(text, encoding="utf-8")
        with build(services.settings.override(chat_model="extractive")) as opened:
            ingest(opened, path)
            asked = question(self.ASKED, document_name=title)
            response = answer(run(opened, asked)).response
        assert "The president welcomed 26 residents." in response
        assert "| --- |" not in response

    def test_of_several_reports_in_scope_it_is_a_search(
        self, strict: Services, server: FakeOpenAI
    ) -> None:
        assert not answer(run(strict, question(self.ASKED))).answered
        assert server.calls(CHAT) == 0

    def test_what_asks_for_something_in_it_is_a_search(self, strict: Services) -> None:
        asked = question(
            "What does this report say about inflation?", country_name="Mali", year=2021
        )
        assert not answer(run(strict, asked)).answered

    def test_rows_of_an_older_system_are_searched(
        self, strict: Services, server: FakeOpenAI
    ) -> None:
        """Its passages cannot be asked for by their ids."""
        row = {
            "_id": "old",
            "document_name": "Old",
            "data": "Of old times.",
            "country_name": "Chad",
            "year": 1999,
        }
        name = strict.settings.chunk_collections[0]
        outside(strict.storage.database, name).insert_one(row)
        assert not answer(
            run(strict, question(self.ASKED, country_name="Chad"))
        ).answered
        assert server.calls(CHAT) == 0


@pytest.mark.usefixtures("kenya", "mali")
class TestGrounded:
    def test_the_sources_are_the_passages_of_the_prompt_in_their_order(
        self, services, server
    ) -> None:
        events = run(services, question())
        (sources,) = [event for event in events if isinstance(event, SourcesEvent)]
        user = server.received(CHAT)[0].body["messages"][-1]["content"]
        assert [hit.rank for hit in sources.hits] == [1, 2, 3]
        for hit in sources.hits:
            passage = user.split(f' number="{hit.rank}">')[1].split("</passage-")[0]
            assert hit.chunk.text in passage
            assert f"Report: {hit.chunk.title}" in passage
        assert user.endswith("Question: What is the population growth rate?")

    def test_the_scope_holds_for_prompt_and_sources(self, services, server) -> None:
        events = run(services, question("population", country_name="Mali"))
        (sources,) = [event for event in events if isinstance(event, SourcesEvent)]
        assert {hit.chunk.metadata["country_name"] for hit in sources.hits} == {"Mali"}
        assert sources.scope == ScopeSummary(scope(country_name="Mali"), 1, 2)
        messages = server.received(CHAT)[0].body["messages"]
        assert "Kenya" not in messages[-1]["content"]
        assert (
            "Scope chosen: Mali (1 report, of which the passages are a selection)\n"
            in messages[-1]["content"]
        )

    @pytest.mark.parametrize(("written", "response", "citations"), CASES["cited"])
    def test_an_answer_counts_as_one_if_it_cites_something(
        self, services, server, written, response, citations
    ) -> None:
        server.chat(Reply([written]))
        found = answer(run(services, question(country_name="Kenya")))
        assert found.response == response
        assert [
            [c.number, c.hit.rank, c.supported] for c in found.citations
        ] == citations
        assert found.answered == bool(citations)

    def test_the_trace_holds_hits_steps_and_usage(self, services, server) -> None:
        server.chat(Reply(["a", "b"]))
        trace = answer(run(services, question())).trace
        assert (trace.mode, trace.retrieval_method, trace.query) == (
            "direct",
            "hybrid",
            question().query,
        )
        steps = [
            "embed",
            "vector_search",
            "keyword_search",
            "fuse",
            "load",
            "order",
            "context",
            "generate",
        ]
        assert [step.name for step in trace.steps] == steps
        assert trace.usage == Usage(PROMPT_TOKENS, 2, embedding_tokens=6, calls=1)
        assert [hit.rank for hit in trace.hits] == [1, 2, 3]

    def test_a_failing_model_may_be_an_error_after_the_sources(
        self, services, server
    ) -> None:
        server.chat(Reply(status=401))
        seen: list[object] = []
        strict = QuerySettings.of(services.settings.override(on_model_error="error"))
        asked = replace(question(), settings=strict)
        with pytest.raises(ChatModelError, match="refused the key"):
            by_mode(services, asked, watch=seen.append)
        assert any(isinstance(event, SourcesEvent) for event in seen)
        assert server.calls(CHAT) == 1


@pytest.mark.usefixtures("kenya", "mali")
class TestNothingFound:
    @pytest.mark.parametrize("method", ["vector", "bm25", "hybrid"])
    def test_abstain_says_so_names_the_scope_and_asks_no_model(
        self, strict, server, method: str
    ) -> None:
        events = run(
            strict, replace(question(country_name="Kenya"), retrieval_method=method)
        )
        assert [type(event) for event in events] == [
            StepEvent,
            SourcesEvent,
            TokenEvent,
            Finished,
        ]
        found = answer(events)
        assert found.response.startswith(
            "The reports searched (Kenya) do not seem to answer this question."
        )
        assert (
            "- Kenya: Country Report 2023, People and Society \u203a Population "
            "growth rate"
        ) in found.response
        assert (found.answered, found.citations) == (False, ())
        assert events[1].hits == ()
        assert events[2].text == found.response
        assert found.trace.hits  # those that were not enough
        assert server.requests == []

    def test_relax_answers_from_the_closest(self, services, server) -> None:
        server.chat(Reply(["Perhaps 2.09% [1]."]))
        with policy(services, "relax") as relaxed:
            found = answer(run(relaxed, question()))
        assert (found.answered, found.trace.closest_only) == (True, True)
        (request,) = server.received(CHAT)
        assert (
            "These passages are the closest that were found"
            in request.body["messages"][-1]["content"]
        )

    def test_without_a_model_the_closest_are_quoted_as_such(self, services) -> None:
        override = services.settings.override(
            relevance_floor=0.999, on_empty="relax", chat_model="extractive"
        )
        with build(override) as quoting:
            events = run(quoting, question())
        found = answer(events)
        assert found.response.startswith(CLOSEST)
        assert (found.answered, found.trace.closest_only) == (True, True)
        assert (
            "".join(
                event.text for event in events if isinstance(event, TokenEvent)
            ).rstrip()
            == found.response
        )

    def test_a_doubtful_passage_that_states_none_is_quoted(
        self,
        services: Services,
        add_report: AddReport,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Who asks for seaports takes for granted that there are some."""
        text = "# Nepal\n\n## Geography\n\n### Maritime claims\n\nnone (landlocked)\n"
        add_report(text, "nepal", country_name="Nepal", year=2021)
        monkeypatch.setattr(Judge, "verdict", lambda *_: "nothing")
        with build(services.settings.override(chat_model="extractive")) as quoting:
            found = answer(
                run(
                    quoting, question("Which seaports are there?", country_name="Nepal")
                )
            )
            refused = answer(
                run(quoting, question("Which seaports are there?", country_name="Mali"))
            )
        assert "none (landlocked)" in found.response
        assert found.trace.closest_only
        assert not refused.citations

    def test_general_answers_without_sources_in_one_call(
        self, services, server
    ) -> None:
        server.chat(Reply(["About 2 % [1]."]))
        with policy(services, "general") as general:
            events = run(general, question())
        assert [type(event) for event in events] == [
            StepEvent,
            SourcesEvent,
            StepEvent,
            TokenEvent,
            Finished,
        ]
        assert events[1].hits == ()
        found = answer(events)
        assert (found.answered, found.citations) == (False, ())
        # Said by the program, whatever the model says.
        assert found.response.startswith(
            "The reports hold nothing on this; the following is general knowledge"
        )
        assert "".join(
            event.text for event in events if isinstance(event, TokenEvent)
        ).startswith(found.response[:60])
        (request,) = server.received(CHAT)
        assert "<passage" not in str(request.body["messages"])
        assert "2.09%" not in str(request.body["messages"])

    def test_a_floor_that_the_best_hit_passes_changes_nothing(
        self, services, server
    ) -> None:
        with policy(services, "abstain", floor=0.5) as mild:
            found = answer(run(mild, question()))
        assert server.calls(CHAT) == 1
        assert not found.trace.closest_only

    @pytest.mark.parametrize("on_empty", ["abstain", "relax", "general"])
    def test_an_empty_scope_names_the_nearest_one_and_asks_no_model(
        self, services, server, on_empty
    ) -> None:
        """R-D4: a known country and a known year without a common report."""
        with policy(services, on_empty, floor=0.0) as opened:
            events = run(opened, question(country_name="Kenya", year=2021))
            french = answer(
                run(
                    opened,
                    replace(question(country_name="Kenya", year=2021), language="fr"),
                )
            )
        assert french.response == (
            "Il n'y a aucun rapport de Kenya, 2021. Il y a 1 rapport de Kenya, de 2023."
        )
        assert [type(event) for event in events] == [
            SourcesEvent,
            TokenEvent,
            Finished,
        ]
        found = answer(events)
        assert found.response.startswith("There is no report for Kenya, 2021. ")
        assert "for Kenya, of 2023." in found.response
        assert not found.answered
        assert (found.scope.documents, found.scope.chunks) == (0, 0)
        assert server.requests == []


def register(
    services: Services, folder: Path, text: str, *, sample: bool = False, **metadata
):
    """Register a report without indexing its passages."""
    path = write_report(folder / "pending", text, text[2:6])
    document = make_document(
        Source(path, text[2:6], metadata=metadata), loader_for(path).load(path)
    )
    assert services.ingesting.ingestor.register(document, Registration(sample=sample))
    return document


class TestStillIndexing:
    @pytest.fixture
    def pending(self, services: Services, tmp_path) -> None:
        register(
            services,
            tmp_path,
            "# Chad 2023\n\nPopulation: 18 million",
            country_name="Chad",
            year=2023,
        )

    @pytest.mark.usefixtures("pending")
    @pytest.mark.parametrize("conditions", [{}, {"year": 2023}])
    def test_reports_without_passages_yet_are_an_error_with_a_time(
        self, services, server, conditions
    ) -> None:
        with pytest.raises(
            IngestingError, match=r"Chad.* are still being indexed"
        ) as raised:
            run(services, question(country_name="Chad", **conditions))
        assert raised.value.retry_after == 3
        assert server.requests == []

    @pytest.mark.usefixtures("pending")
    def test_those_of_no_country_are_not_counted_to_one(
        self, services, tmp_path
    ) -> None:
        """A question for Chad searches the yearly reviews too, but they are no reports
        for Chad.
        """
        register(services, tmp_path, "# 2023 in review\n\nA long year.", year=2023)
        asked = replace(
            question(), scope=Scope().having("country_name", ["Chad"], or_none=True)
        )
        with pytest.raises(
            IngestingError,
            match=r"The reports for Chad are still being indexed: 1 of 1 to go",
        ):
            run(services, asked)

    @pytest.mark.usefixtures("pending", "kenya")
    def test_what_is_ready_is_answered_and_what_is_not_is_said(
        self, services, server
    ) -> None:
        found = answer(run(services, question()))
        assert server.calls(CHAT) == 1
        assert found.scope.documents == 1
        said, _, rest = found.response.partition("\n\n")
        assert said == (
            "Still being indexed: 1 report of this scope. This answer is from the "
            "others."
        )
        assert rest == "Hello world."

    @pytest.mark.usefixtures("kenya")
    def test_a_scope_that_is_ready_waits_for_no_samples(
        self, services, tmp_path
    ) -> None:
        text = "# Mali 2023\n\ntext"
        register(services, tmp_path, text, sample=True, country_name="Mali")
        found = answer(run(services, question(country_name="Kenya")))
        assert found.response == "Hello world."


class TestAttachments:
    """R-A1 to R-A3: what comes with one question is the only thing that is asked."""

    @staticmethod
    def attached(services: Services, folder: Path, *texts: str) -> tuple[Document, ...]:
        found = []
        for number, text in enumerate(texts):
            path = write_report(folder, text, f"note-{number}")
            found.append(services.attachments.read(path, path.name, Cancellation()))
        return tuple(found)

    def about(
        self, attachments: tuple[Document, ...], query: str = "What is the growth rate?"
    ) -> Question:
        return Question(query, Scope(), 3, "hybrid", "direct", attachments=attachments)

    @pytest.mark.usefixtures("kenya", "mali")
    def test_one_call_over_the_attachments_alone(
        self, services, server, tmp_path
    ) -> None:
        server.chat(Reply(["It is 9% [1]."]))
        notes = self.attached(
            services, tmp_path / "notes", "# Growth\n\nThe growth rate is 9%."
        )
        events = run(services, self.about(notes))
        assert [type(event) for event in events] == [
            StepEvent,
            SourcesEvent,
            StepEvent,
            TokenEvent,
            Finished,
        ]
        assert [event.name for event in events if isinstance(event, StepEvent)] == [
            "compress",
            "generate",
        ]
        assert server.calls(CHAT) == len(server.requests) == 1
        user = server.received(CHAT)[0].body["messages"][-1]["content"]
        assert (
            "Source: note-0.md\nTitle: Growth\nContent: The growth rate is 9%." in user
        )
        assert "Report:" not in user
        assert "2.09%" not in user
        found = answer(events)
        assert (found.answered, found.scope) == (True, ScopeSummary(Scope(), 1, 1))
        assert [
            (c.number, c.hit.chunk.document_name, c.supported) for c in found.citations
        ] == [(1, "note-0.md", True)]
        assert [step.name for step in found.trace.steps] == [
            "compress",
            "context",
            "generate",
        ]
        assert found.trace.usage.embedding_tokens > 0

    def test_a_prompt_that_the_server_cut_is_a_step_that_failed(
        self, services, server, tmp_path
    ) -> None:
        server.chat(Reply(["It is 9% [1]."], prompt_tokens=130))
        notes = self.attached(services, tmp_path, "The growth rate is 9%. " * 100)
        events = run(services, self.about(notes))
        (failed,) = [
            event for event in events if isinstance(event, StepEvent) and event.failed
        ]
        assert "The server read 130 of about" in failed.detail
        assert "num_ctx" in failed.detail

    def test_without_any_report_it_is_answered_all_the_same(
        self, services, server, tmp_path
    ) -> None:
        notes = self.attached(services, tmp_path, "The growth rate is 9%.")
        server.chat(Reply(["9% [1]."]))
        assert answer(run(services, self.about(notes))).answered

    def test_each_hit_has_its_neighbours_of_the_same_attachment(
        self, services, server, tmp_path
    ) -> None:
        """Search small, show wide: also of what is in no store."""
        lines = [
            " ".join([word] * 10) for word in ("growth", "neighbour") for _ in range(13)
        ]
        notes = self.attached(
            services, tmp_path, "\n\n".join(lines), "Trees have growth too."
        )
        narrow = QuerySettings.of(
            services.settings.override(context_tokens=400)
        )  # else it would be given whole
        events = run(services, replace(self.about(notes, "growth"), settings=narrow))
        assert all("neighbour" not in hit.chunk.text for hit in events[1].hits)
        user = server.received(CHAT)[0].body["messages"][-1]["content"]
        passages = {part.split("\n")[0]: part for part in user.split("Source: ")[1:]}
        assert "neighbour" in passages["note-0.md"]
        assert "neighbour" not in passages["note-1.md"]

    @pytest.mark.usefixtures("kenya", "mali")
    def test_it_is_held_against_the_reports_that_the_question_speaks_of(
        self, services, server, tmp_path
    ) -> None:
        notes = self.attached(
            services, tmp_path / "notes", "The population growth rate is 9%."
        )
        found = answer(
            run(
                services, self.about(notes, "Does Kenya's report agree with this note?")
            )
        )
        said = server.received(CHAT)[0].body["messages"][-1]["content"]
        assert "The population growth rate is 9%." in said
        assert "2.09%" in said
        assert "Mali" not in said
        assert found.scope.documents == 2

    def test_nothing_close_asks_no_model(self, services, server, tmp_path) -> None:
        notes = self.attached(
            services, tmp_path, "Coffee is drunk. " * 500, "Tea is drunk."
        )
        events = run(services, self.about(notes, "zebra stripes"))
        assert [type(event) for event in events] == [
            StepEvent,
            SourcesEvent,
            TokenEvent,
            Finished,
        ]
        found = answer(events)
        assert (
            found.response
            == "Nothing in note-0.md, note-1.md is close to this question."
        )
        assert (found.answered, found.citations, found.scope.documents) == (
            False,
            (),
            2,
        )
        assert found.trace.threshold is not None
        assert found.trace.threshold.used == 0.675
        spanish = answer(
            run(
                services, replace(self.about(notes[:1], "zebra stripes"), language="es")
            )
        )
        assert spanish.response == "Nada en note-0.md se acerca a esta pregunta."
        assert server.requests == []

    def test_a_cancelled_question_stops_before_the_model(
        self, services, server, tmp_path
    ) -> None:
        cancel = Cancellation()
        cancel.cancel()
        notes = self.attached(services, tmp_path, "The growth rate is 9%.")
        asked = self.about(notes)
        assert by_mode(services, asked, request=RequestContext(cancel)) == []
        assert server.requests == []


@pytest.mark.usefixtures("kenya", "mali")
@pytest.mark.parametrize(("query", "language", "name"), CASES["languages"])
def test_who_asks_in_a_language_that_the_search_does_not_know_is_told_what_to_do(
    strict: Services, query: str, language: str, name: str | None
) -> None:
    found = answer(run(strict, replace(question(query), language=language)))
    told = speaking(language)(OTHER_LANGUAGE, language=name or "inglés")
    assert (told in found.response) is (name is not None)


def test_a_question_in_the_language_of_the_quoted_report_is_not_told_to_change_it(
    services: Services, tmp_path: Path
) -> None:
    """The passage has too few words to show a language; its report has enough."""
    path = tmp_path / "informe.md"
    path.write_text(
        "# Informe de las empresas\n\nEste informe presenta los resultados de la "
        "encuesta que se hizo con los dueños de las empresas del país.\n\n"
        "## Crédito\n\n1% superior: 46.4% total\n"
    )
    asked = replace(question("¿Cuál es el total de crédito superior?"), language="es")
    with build(services.settings.override(chat_model="extractive")) as keyless:
        keyless.ingesting.service.ingest(Source(path, "informe"))
        response = answer(run(keyless, asked)).response
    assert "1% superior: 46.4% total" in response
    assert speaking("es")(OTHER_LANGUAGE, language="inglés") not in response


def test_a_single_figure_is_one_sentence_with_its_passage_cited(
    services: Services, add_report: AddReport
) -> None:
    """Only where every word of the question is in the names of one figure."""
    add_report(CASES["report"], country_name="Kenya", year=2025)
    with build(services.settings.override(chat_model="extractive")) as keyless:
        for query, sentence in CASES["sentences"].items():
            given = answer(run(keyless, question(query, country_name="Kenya")))
            assert (query, given.marks, given.citations[0].number) == (query, (), 1)
            if sentence:
                assert (query, given.response) == (query, sentence)
                assert len(given.citations) == 1
            else:
                assert given.response.startswith("Quoted from the reports:\n\n")


def test_an_answer_from_a_report_in_a_language_that_the_search_does_not_know_says_so_once(  # noqa: E501
    services: Services, tmp_path: Path
) -> None:
    path = tmp_path / "niger.md"
    path.write_text(
        "# Rapport du Niger\n\n## Mil\n\nLa récolte de mil est de 37 tonnes, les "
        "pluies ont été bonnes."
    )
    with build(services.settings.override(chat_model="extractive")) as keyless:
        keyless.ingesting.service.ingest(Source(path, "niger"))
        found = answer(run(keyless, question("La récolte de mil est de 37 tonnes ?")))
    assert (
        found.response.count("many languages")
        == found.response.count("Rapport du Niger: The text is in French")
        == 1
    )


@pytest.mark.parametrize("on_empty", ["abstain", "relax"])
@pytest.mark.parametrize(
    "mode", ["direct", "deep", "chain", "compare", "report", "auto"]
)
def test_where_there_are_no_reports_that_is_the_answer(
    services, server, mode: str, on_empty: str
) -> None:
    with policy(services, on_empty, floor=0.0) as opened:
        found = answer(
            run(
                opened,
                replace(
                    question("Compare the population of Kenya and Mali"), mode=mode
                ),
            )
        )
    assert (found.response, found.answered, server.requests) == (NO_REPORTS, False, [])

"""Builds the way of a question (`answering/flow.py`) from its parts."""

from collections.abc import Callable, Mapping, Sequence

from ...answering.early.figures import TableOfFigures
from ...answering.early.glossary import DefineTerm
from ...answering.early.library import WhatIsHere
from ...answering.early.missing import NothingOn
from ...answering.early.overview import Overview
from ...answering.early.small_talk import SmallTalk
from ...answering.figure_tables import FigureTables
from ...answering.flow import Flow, Gather, Write
from ...answering.stages.alone import AskAlone
from ...answering.stages.cache import RepeatAnswer
from ...answering.stages.collections import ChooseCollections
from ...answering.stages.condense import Condense
from ...answering.stages.enough import IsEnough
from ...answering.stages.finish import Finish
from ...answering.stages.plan import PlanByModel
from ...answering.stages.read import ReadNames
from ...answering.stages.repair import Repair
from ...answering.stages.reports import CountReports
from ...answering.stages.route import ChooseMode
from ...answering.stages.scope import ScopeOfQuestion
from ...answering.stages.spelling import CorrectSpelling
from ...answering.stages.translate import Translate
from ...answering.stages.verify import Verify
from ...answering.tools import Tools
from ...answering.tools.attachments import AttachmentTool
from ...answering.tools.figures import FigureTool
from ...answering.tools.model import ModelTool
from ...answering.tools.read import ReadTool
from ...answering.tools.search import SearchTool
from ...answering.turn import Stage
from ...answering.writers import Desk
from ...answering.writers.advice import Advice
from ...answering.writers.nothing import NothingFound
from ...config.settings import Settings
from ...database.reader import Reader
from ...domain import QuerySettings
from ...domain.protocols import ChatModel, Embedder, Passages, Quoter
from ...language.analysis import analyzer
from ...models.caches import AnswerCache
from ...questions.follow_ups import FollowUps
from ...search.compression import Compressor
from ...search.indicators import Glossary
from ...search.pipeline import Retriever
from ...search.relevance import Bounds, Judge
from ...search.scope import KnowledgeCollection
from ...search.spelling import Spelling
from ...search.translation import Translator


def build_flow(
    *,
    settings: Settings,
    reader: Reader,
    passages: Passages,
    embedder: Embedder,
    text_embedder: Embedder,
    retriever: Retriever,
    compressor: Compressor,
    tables: FigureTables,
    glossary: Glossary,
    follow_ups: FollowUps,
    bounds: Callable[[QuerySettings], Bounds],
    chat_model: ChatModel,
    small_chat_model: ChatModel,
    quoter: Quoter,
    collections: Sequence[KnowledgeCollection],
    cache: AnswerCache,
) -> Flow:
    """Return what answers the questions of the callers of ``reader``.
    ``text_embedder`` compares what is written with itself.
    """
    language = settings.language
    words = analyzer(language)
    catalog = reader.documents
    advice = Advice(embedder, catalog, language)
    attachments = AttachmentTool(compressor)
    tools = Tools(
        search=SearchTool(retriever, passages, words, attachments),
        figures=FigureTool(tables, passages, catalog, reader.glossary, language),
        attachments=attachments,
        model=ModelTool(small_chat_model, catalog),
        read=ReadTool(passages, reader.figures),
    )
    desk = Desk(
        chat_model=chat_model,
        quoter=quoter,
        passages=passages,
        embedder=text_embedder,
        advice=advice,
    )
    nothing = NothingFound(chat_model, advice)
    translator = Translator(reader.glossary)
    condense = Condense(
        follow_ups=follow_ups,
        chat_model=small_chat_model,
        analyzer=words,
        translator=translator,
    )
    spelling = Spelling(reader.glossary, reader.figures.indicators)
    by_rule: Mapping[str, Stage] = {
        "condense": condense,
        "alone": AskAlone(tools, follow_ups),
        "translate": Translate(translator, tools, language),
        "spelling": CorrectSpelling(spelling, passages),
        "read": ReadNames(tools.figures),
        "missing": NothingOn(nothing),
        "scope": ScopeOfQuestion(),
    }
    stages: Mapping[str, Stage] = {
        **by_rule,
        "plan": PlanByModel(tools, tuple(by_rule.values())),
        "small_talk": SmallTalk(),
        "glossary": DefineTerm(glossary),
        "library": WhatIsHere(passages, tables),
        "cache": RepeatAnswer(cache),
        "route": ChooseMode(tools, desk),
        "reports": CountReports(collections),
        "collections": ChooseCollections(collections, tools.model, nothing),
        "figures": TableOfFigures(tools.figures, desk),
        "overview": Overview(tools.figures, desk),
        "gather": Gather(tools.search),
        "enough": IsEnough(nothing, tools.figures),
        "write": Write(),
    }
    return Flow(
        stages=stages,
        tools=tools,
        finish=Finish(cache, reader.glossary, Repair(chat_model), Verify(tools.model)),
        settings=QuerySettings.of(settings),
        catalog=catalog,
        analyzer=words,
        judge_with=lambda given: Judge(
            bounds(given),
            embedder,
            language,
            reader.glossary,
        ),
        advice=advice,
        has_model=chat_model.is_language_model,
    )

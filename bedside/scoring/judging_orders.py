"""What judges are asked about a run: chosen by the user, or as a manifest keeps it from an earlier time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError, RegistryError, one_of
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import RubricChoice, RubricNames
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric, recorded_metric
from bedside.judges.deepeval_raters.measure import library_version
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.model_names import ModelName
from bedside.judges.questions import check_wordless
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import (
    CODEBOOK,
    RUBRICS,
    OwnRubrics,
    check_comparable,
    own_rubrics,
    rubrics_with,
)
from bedside.judges.settings import JudgeSettings, price_before, settings_before
from bedside.ratings.run import Run
from bedside.ratings.suites import Suite
from bedside.ratings.suites.run_suites import suites_of
from bedside.scoring.pipeline import pipelines_for
from bedside.scoring.transcript_pairs import PairedTranscripts
from bedside.transcripts.transcript import CODES, PROVENANCE_KINDS

#: The file of a run that keeps judgements.
STORE = "judgements.sqlite"


@dataclass(frozen=True, slots=True)
class JudgingWork:
    """What a judge is asked about a run.

    Attributes:
        rubrics: to rate by.
        codes: behaviour codes to give, in place of rubrics; names of :data:`bedside.transcripts.transcript.CODES`.
        suite: the suite that was asked for: it says what a failed conversation is rated with.
        from_suite: whether the rubrics are all those of the suite, rather than named for this judge: a rubric whose
            answers a transcript holds itself is then not asked about it.
        deepeval: metrics of deepeval to rate by, beside rubrics or codes.
        pairs: conversations to compare two by two by the rubrics, in place of rating each by itself.
    """

    rubrics: tuple[Rubric, ...] = ()
    codes: tuple[str, ...] = ()
    suite: Suite | None = None
    from_suite: bool = False
    deepeval: tuple[DeepevalMetric, ...] = ()
    pairs: PairedTranscripts | None = None

    def __post_init__(self) -> None:
        """Refuse a tuned rubric among others, and translations into several languages.

        Raises:
            InputError: there are: their ratings are of raters of their own.
            RegistryError: conversations can't be compared by a rubric.
        """
        if self.pairs is not None:
            for rubric in self.rubrics:
                check_comparable(rubric)
        tongues = {rubric.language for rubric in self.rubrics}
        if len(tongues) > 1 and any(rubric.translated_from for rubric in self.rubrics):
            raise InputError(
                f"the rubrics are in several languages ({', '.join(sorted(tongues))}), so that a judge by them is "
                "several raters",
                where="`rubrics`",
                todo="ask in one language, and in the other in another command",
            )
        if len({rubric.shows for rubric in self.rubrics}) > 1:
            raise InputError(
                "some rubrics show system messages or tools and others don't, so that a judge is several raters",
                where="`rubrics`",
                todo="ask by those that show the same together, and by the others in another command",
            )
        tuned = [rubric.title for rubric in self.rubrics if rubric.tuned]
        if tuned and len(self.rubrics) > 1:
            raise InputError(
                f"the rubric {tuned[0]} is tuned, so that a judge by it is another rater than by other rubrics",
                where="`rubrics`",
                todo="ask about it alone, and about the others in another command",
            )

    def parts(self) -> tuple[JudgingWork, ...]:
        """The work of each rater that the judge is: by rubrics or codes, and by metrics of deepeval."""
        if not self.deepeval:
            return (self,)
        by_rubrics = (replace(self, deepeval=()),) if self.rubrics or self.codes else ()
        return (*by_rubrics, JudgingWork(deepeval=self.deepeval))


def rubrics_of(
    rubrics: RubricNames,
    run: Run | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    language: str | None = None,
    shows: Names = (),
) -> tuple[Rubric, ...]:
    """Rubrics by their names or files, or as they are; those of the user's own that a run keeps go by their names, too.

    Args:
        rubrics: the rubrics.
        run: the run.
        folder: of the user's own rubrics, which then go before those that the run keeps.
        language: of their texts; each in its own unless named.
        shows: provenance that each shows, whatever it says itself.

    Raises:
        InputError: there are no words of prompts in that language, or no such provenance.
        RegistryError: there is none of a name, none is named at all, one has no texts in the language, or two that
            differ have one name.
    """
    own = {} if run is None or folder is not None or language is not None else own_rubrics(run)
    registry = rubrics_with(None if folder is None else Path(folder))
    kinds = [one_of(kind, PROVENANCE_KINDS, "choice", InputError, where="`show`") for kind in listed(shows, "show")]
    by_name: dict[str, Rubric] = {}
    # What can't be gone through is no list either: it is told of as what it is.
    several = not isinstance(rubrics, str | os.PathLike | Rubric) and isinstance(rubrics, Iterable)
    entries: Iterable[Any] = rubrics if several else [rubrics]  # type: ignore[assignment]
    for entry in entries:
        if not isinstance(entry, Rubric):
            (name,) = listed([str(entry) if isinstance(entry, os.PathLike) else entry], "rubrics")
            entry = own[name] if name in own else registry.find_in(name, language)
        shipped = entry.key in RUBRICS and folder is None and language is None
        same = by_name.get(entry.key) or (RUBRICS.load(entry.key) if shipped else entry)
        if same.version != entry.version:
            raise RegistryError(f"two rubrics are called {entry.name!r}", todo="rename your own")
        by_name[entry.key] = entry
    if not by_name:
        raise RegistryError("the suite has no rubrics for a judge", todo="name some with `rubrics`")
    if not kinds:
        return tuple(by_name.values())
    shown = tuple(kind for kind in PROVENANCE_KINDS if kind in kinds)
    return tuple(replace(rubric, shows=shown) for rubric in by_name.values())


def chosen_rubrics(asked: RubricChoice, run: Run | None = None, usual: RubricNames | None = None) -> tuple[Rubric, ...]:
    """The rubrics that settings name, else ``usual``; in the language and with the provenance that they say.

    Raises:
        BedsideError: as of :func:`rubrics_of`.
    """
    names = asked.rubrics if asked.rubrics is not None else (() if usual is None else usual)
    return rubrics_of(names, run, folder=asked.rubric_folder, language=asked.prompt_language, shows=asked.show)


def chosen_codes(names: Names) -> tuple[str, ...]:
    """The behaviour codes of these names, or all of them for ``all``.

    Raises:
        InputError: there is none of a name.
    """
    codes = tuple(listed(names, "codes"))
    if codes == ("all",):
        return tuple(CODES)
    for name in codes:
        one_of(name, CODES, "code", InputError, where="`codes`")
    return codes


def check_work_wordless(work: JudgingWork) -> None:
    """Refuse what can't be done for a run that keeps no text.

    Raises:
        InputError: metrics follow from a judge's words, a rubric has examples, or metrics of deepeval are asked.
    """
    if work.deepeval:
        raise InputError(
            "what a metric of deepeval asks is made of the judge's words, and a run without text keeps none",
            where=",".join(metric.metric for metric in work.deepeval),
            todo="keep the text",
        )
    for rubric in work.rubrics:
        if rubric.examples:
            raise InputError(
                f"the examples of the rubric {rubric.title} hold what was said, and the run keeps no text",
                where="`rubrics`",
                todo="tune it with `examples=0`, or score into a run that keeps text",
            )
    pipelines = pipelines_for({rubric.name for rubric in work.rubrics})
    check_wordless(work.rubrics, frozenset[str]().union(*(pipeline.rubrics for pipeline in pipelines)))


@dataclass(frozen=True, slots=True)
class JudgingOrder:
    """One judge's work on a run, and how the judge is asked.

    Attributes:
        judge: the model.
        work: what is asked.
        settings: how.
    """

    judge: ModelName
    work: JudgingWork
    settings: JudgeSettings


@dataclass(frozen=True, slots=True)
class RecordedJudging:
    """What a run's manifest says of one judge's work.

    Attributes:
        rater: the judge.
        entry: the manifest's entry of the scoring.
        judge: what the entry says of the judge: how it was asked, and what.
    """

    rater: str
    entry: Mapping[str, Any]
    judge: Mapping[str, Any]

    @property
    def prompts(self) -> Mapping[str, str]:
        """The versions of the rubrics asked, by name."""
        prompts: Mapping[str, str] = self.judge["prompts"]
        return prompts

    @property
    def batch(self) -> bool:
        """Whether it was asked by batch files."""
        return bool(self.judge.get("batch"))

    def order(self, run: Run) -> JudgingOrder | None:
        """The same work, to be done again in the run; None where a rubric has another wording since."""
        judge = self.judge
        codes = tuple(judge["codes"])
        if "deepeval" in judge:
            work = self._deepeval_work()
        else:
            own = own_rubrics(run)
            rubrics = tuple(
                CODEBOOK.load(name) if codes else _asked_rubric(name, version, own)
                for name, version in self.prompts.items()
            )
            suite = next((suite for suite in suites_of(run) if suite.name == self.entry["suite"]), None)
            work = JudgingWork(() if codes else rubrics, codes, suite, judge["from_suite"])
            if any(rubric.version != self.prompts[rubric.name] for rubric in rubrics):
                return None
        if work is None:
            return None
        asked = {**settings_before(judge), "seed": self.entry["seed"], "passes": judge["passes"]}
        settings = JudgeSettings(**asked, max_prompt_tokens=judge["max_prompt_tokens"], price=price_before(judge))
        return JudgingOrder(model_name(judge["model"]), work, settings)

    def _deepeval_work(self) -> JudgingWork | None:
        """What was asked by metrics of deepeval; None where another version of it is installed since."""
        recorded = self.judge["deepeval"]
        if recorded["version"] != library_version():
            return None
        return JudgingWork(deepeval=tuple(map(recorded_metric, recorded["metrics"])))


def _asked_rubric(name: str, version: str, own: OwnRubrics) -> Rubric:
    """The rubric of a name in the version that was asked, if it is tuned; else as it is now."""
    tuned = own.get(f"{name}@{version}")
    if tuned is not None:
        return tuned
    return own[name] if name in own else RUBRICS.find(name)


def recorded_judgings(run: Run, *, batch: bool = False) -> list[RecordedJudging]:
    """What judges were asked; of what was asked twice of a judge, the later.

    Args:
        run: the run.
        batch: whether only what was asked by batch files.
    """
    latest: dict[tuple[str, frozenset[str]], RecordedJudging] = {}
    for entry in run.manifest["scorings"]:
        for rater, judge in entry.get("judges", {}).items():
            recorded = RecordedJudging(rater, entry, judge)
            if batch and not recorded.batch:
                continue
            key = rater, frozenset(recorded.prompts)
            latest.pop(key, None)
            latest[key] = recorded
    return list(latest.values())


def exported_orders(run: Run) -> list[JudgingOrder]:
    """What was exported from a run; of what was exported twice, the later, and not what has another wording since.

    Raises:
        InputError: all of it has.
    """
    orders = [recorded.order(run) for recorded in recorded_judgings(run, batch=True)]
    unchanged = [order for order in orders if order is not None]
    if orders and not unchanged:
        raise InputError(
            "the rubrics have another wording than when their calls were exported",
            where=str(run.path),
            todo="export anew: bedside score FILES --judge MODEL --batch-out FILE",
        )
    return unchanged

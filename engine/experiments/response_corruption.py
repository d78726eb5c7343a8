r"""Response corruption: Figure 5-2 (and A-3 with other models), Table A-17.

Queries are clean validation records. A corrupted record should harm them, so records are ranked by minus their mean
support; gradient norm and chance are ranked as they are. AUPRC for one kind of corruption counts all other records,
the other kind included, as negatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from engine.applications.language import detection, signals
from engine.data.tasks.response_corruption import SIZES
from engine.experiments import language
from engine.experiments.enough import detects_corruption
from engine.experiments.experiment import Experiment, StudyPreset
from engine.jobs import Context, Output
from engine.models.causal import catalogue
from engine.models.causal.readouts import READOUTS
from engine.store.results import Result

TASK = {"name": "response_corruption", "seed": 0}
PANELS = {"answer": "answer_logit", "rationale": "explanation_loss"}
"""Table A-17: corruption -> the behavior that it is sought with."""
SPANS = {"answer": "answer", "rationale": "explanation"}
EMBEDDED = {"epochs": 12, "learning_rate": 3e-3, "batch": 16, "context": 256}
"""Chosen by accuracy and by the share of wrong answers that is learned, and `DESK` by accuracy."""
LONG_SIZES = {"clean": 2_000, "answer": 250, "rationale": 250, "validation": 500}
"""The paper's number of queries: the mean gradients of losses over half of them are still mostly noise."""
LONG = {**EMBEDDED, "epochs": 2}
"""As many passes over records as the paper's."""
DESK = {"checkpoints": 2, "learning_rate": 1e-3, "context": 512, "precision": "mixed", "epochs": 6}
GPU = {**language.PAPER_COUNTS_RECIPE, "epochs": 3}
"""Not tried yet."""
SETTINGS = {
    "small": language.settings(
        catalogue.SMALL_MODEL, {**TASK, "clean": 64, "answer": 8, "rationale": 8, "validation": 8, "longest": 200},
        {"epochs": 2, "checkpoints": 2, "learning_rate": 5e-4, "context": 512}, 2048),
    "desk": language.settings(
        catalogue.SMALL_MODEL, {**TASK, "clean": 800, "answer": 100, "rationale": 100, "validation": 100,
                                "longest": 300}, DESK, 2048),
    "gpu": language.settings(catalogue.SMALL_MODEL, {**TASK, **SIZES}, GPU, 4096),
    "paper": language.settings(catalogue.PAPER_MODEL, {**TASK, **SIZES}, {"epochs": 1}, 4096),
    "embedded": language.settings(catalogue.EMBEDDED_MODEL, {**TASK, "questions": "world", **SIZES}, EMBEDDED, 2048),
    "embedded-long": language.settings(catalogue.LONG_MODEL, {**TASK, "questions": "world_long", **LONG_SIZES}, LONG,
                                       2048),
    "embedded-concluded": language.settings(catalogue.CONCLUDED_MODEL, {**TASK, "questions": "world_concluded",
                                                                        **LONG_SIZES}, LONG, 2048),
}
TITLES = {"small": "80 short records, two epochs with learning rate 5e-4",
          "desk": "1,000 short ScienceQA records and 100 queries, a model of 135 million parameters",
          "gpu": "5,000 ScienceQA records in the paper's counts, a model of 135 million parameters",
          "paper": "5,000 ScienceQA records as in Appendix A-2",
          "embedded": "5,000 records of the embedded world, in the paper's counts",
          "embedded-long": "2,500 records of the embedded world with up to five choices and long explanations, in the "
                           "paper's proportions, and 500 queries",
          "embedded-concluded": "2,500 records as in `embedded-long`, whose explanations mark their conclusion"}
PRESETS = {name: StudyPreset(name, TITLES[name], seeds, {**SETTINGS[name], "layers": language.LAYERS})
           for name, seeds in (("small", 2), ("desk", 3), ("gpu", 3), ("paper", 3), ("embedded", 3),
                                ("embedded-long", 3), ("embedded-concluded", 3))}


def weight(payload: Mapping[str, Any], key: str) -> float:
    chunk, chosen = key.partition("/")[2], payload["settings"]
    return 1.0 if chunk == "scores" else language.seconds(chosen, chunk, 1, chosen["task"]["validation"])


def _further(settings: Mapping[str, Any]) -> language.Further:
    signals_chunk = _signals_as_authors if settings.get("unprojected") else _signals_chunk
    return {"signals": signals_chunk, "scores": lambda attribution, _: _scores_chunk(settings, attribution)}


def _scores_chunk(settings: Mapping[str, Any], attribution) -> Output:
    """Every measure of every ranking for both kinds of corruption."""
    task = attribution.task
    features = language.features(settings, attribution, task.reference, [task.reference])
    ranked = language.ranked(settings, features, task.sign, settings.get("layers", ()))
    measured = {(corruption, method, behavior, metric): value
                for corruption, flag in task.sought.items() for (method, behavior), scores in ranked.items()
                for metric, value in detection.detection(task.flagged(flag), scores).items()}
    return Output(tables=language.measured(measured),
                  manifest=language.sketched(settings, attribution, features))


def _signals_chunk(run, context: Context) -> Output:
    """AUPRC of signal-augmented RepSim at four layers of the last checkpoint, as ranked and with the sign flipped."""
    return _signals(run, context, PANELS, lambda behavior: _loss, signals.score, run.task.sign)


def _signals_as_authors(run, context: Context) -> Output:
    """The same as the authors' code reads signals, whose scores are larger where a record harms."""
    panels = {**PANELS, "answer": "answer_log_probability"}
    return _signals(run, context, panels, lambda behavior: behavior.read, signals.score_as_authors, +1, as_authors=True)


def _signals(run, context: Context, panels: Mapping[str, str], of_records, score, sign: int, **options: bool
             ) -> Output:
    """of_records(behavior): what is differentiated of a training record. score, sign: of a variant's pairs, and by
    which they are ranked."""
    task, encoder, size = run.task, run.encoder, run.setting.recipe.batch
    run.load(run.points[-1])
    layers = [run.layer_index(fraction) for fraction in language.DEPTHS.values()]
    queries, measured = run.queries(task.reference), {}
    for index, (corruption, name) in enumerate(panels.items()):
        def progress(done: float, index=index) -> None:
            context.progress((index + done) / len(panels), "signals at hidden states")

        behavior, span = READOUTS[name], SPANS[corruption]
        of_queries = signals.states_and_signals(run.model, encoder, queries, behavior.read, span, layers, size,
                                                context.check, **options)
        own = signals.states_and_signals(run.model, encoder, run.encoded, of_records(behavior), span, layers, size,
                                         context.check, progress, **options)
        flags = task.flagged(task.sought[corruption])
        for row, (label, layer) in enumerate(zip(language.DEPTHS, layers, strict=True)):
            for signal, scale in signals.VARIANTS:
                scores = sign * score(signal, scale, of_queries[0][row], own[0][row], of_queries[1][row],
                                      own[1][row]).mean(0)
                key = (corruption, behavior.title, _method(signal, scale), signal, scale, label,
                       f"{layer} of {run.depth}")
                measured[*key, "AUPRC"] = detection.auprc(flags, scores)
                measured[*key, FLIPPED] = detection.auprc(flags, -scores)
    return Output(tables=language.measured(measured))


FLIPPED = "AUPRC (sign flipped)"


def _loss(logits, batch):
    return -READOUTS["response_loss"].read(logits, batch)


def _method(signal: str, scale: str) -> str:
    return "RepSim" if signal == "none" else f"RepSim + {signal} ({scale})"


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The tables `detection` and `signals`."""
    seeds, chosen = payload["seeds"], payload["settings"]
    scored, signalled = ([language.read(chunks[f"{seed}/{chunk}"]) for seed in seeds]
                         for chunk in ("scores", "signals"))
    tables = {"detection": language.table(chosen, ("corruption", "method", "behavior", "metric"), scored),
              "signals": language.table(chosen, ("corruption", "behavior", "method", "signal", "signal_normalization",
                                                 "layer", "own_layer", "metric"), signalled)}
    return Output({name: pd.DataFrame(rows) for name, rows in tables.items()},
                  manifest=language.manifest(payload, chosen, chunks, context))


STUDY = language.study_of_runs("response_corruption", lambda attribution: ["validation"], _further, finish, weight)
FIGURE_5_2 = Experiment(
    "figure-5-2", "Figure 5-2: response corruption, estimator × behavior", STUDY.name, PRESETS,
    lambda tables: tables["detection"], ("corruption", "method", "behavior", "metric"), None,
    "The paper prints this figure without its numbers. With Gemma-2-9B-it and Llama-3.1-8B-Instruct it is Figure A-3. "
    "RepSim at 50% uses the middle layer, RepSim without a number the last one.",
    models=catalogue.ALL_MODELS, too_small=detects_corruption)
TABLE_A17 = Experiment(
    "table-a17", "Table A-17: RepSim with signals, response corruption", STUDY.name, PRESETS,
    lambda tables: tables["signals"], ("corruption", "method", "layer", "metric"),
    "table_a17_signal_augmented_response_corruption.csv",
    "The paper's layers stand for the same share of another model's depth. Every ranking is also given with its sign "
    "flipped.", models=catalogue.ALL_MODELS[:1], too_small=detects_corruption)

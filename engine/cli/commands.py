"""The commands and their options. What a command needs is imported when it runs, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PROGRAM = "python -m engine"

Data = Annotated[Path, typer.Option(help="The problem: an npz with x_train, y_train, x_query, y_query and optional "
                                         "candidates, or a JSON that names dataset, sizes, model and seed.",
                                    metavar="NPZ")]
Device = Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")]
Memory = Annotated[float, typer.Option(help="Memory to keep within, in GiB.", metavar="GIB")]
L2 = Annotated[float, typer.Option("--l2", help="λ of the penalty (λ/2)‖W‖².")]
Intercept = Annotated[bool, typer.Option("--intercept", help="Add an intercept, which is not regularised.")]

Model = Annotated[str, typer.Option(help="softmax, a network that `list` shows, a classification model of "
                                         "torchvision, or MODULE:FUNCTION of your own.")]
Checkpoint = Annotated[Path | None, typer.Option(help="The network's trained weights: safetensors, or a state dict, "
                                                      "which is read without running code (default: train it).",
                                                 metavar="FILE")]
Shape = Annotated[str, typer.Option(help="The shape of one input to the network, such as 3,32,32 (default: flat).",
                                    metavar="C,H,W")]
Parameters = Annotated[str, typer.Option(help="Which of the network's parameters count: all, last_block, last_layer, "
                                              "or a regular expression on their names.")]
Trajectory = Annotated[list[Path] | None, typer.Option(help="Weights at an earlier point of the training, for the "
                                                            "process `trajectory`; repeat it in order.",
                                                       metavar="FILE")]
ScoreFiles = Annotated[list[Path] | None, typer.Option(help="Scores that `bring` or `influence` wrote for this "
                                                            "problem; repeat it for several.", metavar="NPZ")]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    if asked:
        from engine.basics.provenance import versions

        print(f"whichfluence {versions()['whichfluence']}")
        raise typer.Exit


@app.callback()
def whichfluence(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                                       help="Show the version.")] = False) -> None:
    """Data influence under an explicit specification: behavior, intervention and training process."""


@app.command()
def influence(
    data: Data,
    spec: Annotated[Path, typer.Option(help="The specification and its estimator, as a JSON object.", metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write; a manifest .json is written beside them.",
                                      metavar="NPZ")],
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Score the candidates for every query under a specification."""
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting, influence

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    influence(data, spec, out, Setting(device, l2, intercept, memory, network))


@app.command()
def compare(
    data: Data,
    specs: Annotated[Path, typer.Option(help='A JSON list of {"name": …, "spec": {…}}, two at least.',
                                        metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Agreement to write: a row for each pair and metric.", metavar="CSV")],
    scores: ScoreFiles = None,
    metric: Annotated[list[str] | None, typer.Option(help="A further metric: spearman, rbo or jaccard; repeat it for "
                                                          "several.")] = None,
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Compare specifications, and say why their scores differ."""
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting, compare

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    compare(data, specs, out, Setting(device, l2, intercept, memory, network), scores or (), metric or ())


@app.command()
def explain(
    data: Annotated[list[Path], typer.Option(help="The problem: an npz, or a problem.json; several, each as its own "
                                                  "option, are the seeds of an average.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="The explanation to write.", metavar="JSON")],
    specs: Annotated[Path | None, typer.Option(help='A JSON list of {"name": …, "spec": {…}}.',
                                               metavar="JSON")] = None,
    scores: ScoreFiles = None,
    between: Annotated[list[str] | None, typer.Option(help="The names of the two to explain, as two options (default: "
                                                           "the two that are given).", metavar="NAME")] = None,
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Say how much of a disagreement is behavior, intervention, training process, or approximation error."""
    from engine.cli.explaining import explain_pair
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    explain_pair(data, specs, scores or (), between or (), out, Setting(device, l2, intercept, memory, network))


@app.command()
def datamodel(
    data: Data,
    specs: Annotated[Path, typer.Option(help='A JSON list of {"name": …, "spec": {…}}.', metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write: a row for each specification.", metavar="CSV")],
    scores: ScoreFiles = None,
    subsets: Annotated[int, typer.Option(help="How many models to train, each on a random subset.", min=3,
                                         max=10_000)] = 100,
    share: Annotated[float, typer.Option(help="The share of the candidates in a subset.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Seed of the subsets.", min=0)] = 0,
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Measure how well summed scores predict models that are trained on random subsets."""
    from engine.cli.datamodeling import datamodel
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    datamodel(data, specs, scores or (), out, subsets, share, seed, Setting(device, l2, intercept, memory, network))


@app.command("self-influence")
def self_influence(
    data: Data,
    spec: Annotated[Path, typer.Option(help="The specification and its estimator, as a JSON object.", metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Values to write: a row for each candidate, largest first.",
                                      metavar="CSV")],
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Score every candidate by its influence on the behavior at itself."""
    from engine.cli.datamodeling import self_influences
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    self_influences(data, spec, out, Setting(device, l2, intercept, memory, network))


@app.command()
def bring(
    scores: Annotated[Path, typer.Option(help="Scores of another program: npy, npz, safetensors, parquet or csv.",
                                         metavar="FILE")],
    data: Data,
    spec: Annotated[Path, typer.Option(help="The specification that the scores claim, as a JSON object.",
                                       metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write for `compare` and `explain`; a manifest .json is written "
                                           "beside them.", metavar="NPZ")],
    name: Annotated[str, typer.Option(help="What to call them (default: the file's name).")] = "",
    key: Annotated[str, typer.Option(help="Which array, where the file holds several.")] = "",
    first_row: Annotated[str, typer.Option(help="What the first row of a csv is: names, scores, or auto.")] = "auto",
    axes: Annotated[str, typer.Option(help="What the rows are: queries, candidates, or auto.")] = "auto",
    sign: Annotated[str, typer.Option(help="plus where a larger score supports the behavior, minus where it works "
                                           "against it, or auto.")] = "auto",
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False, memory: Memory = 4.0,
    model: Model = "softmax", checkpoint: Checkpoint = None, shape: Shape = "", parameters: Parameters = "all",
    trajectory: Trajectory = None,
) -> None:
    """Bring scores of another program, and see how they agree with the exact answer to what they claim."""
    from engine.cli.bringing import bring_scores
    from engine.cli.networks import NetworkSetting
    from engine.cli.scoring import Setting

    network = NetworkSetting(model, checkpoint, shape, parameters, tuple(trajectory or ()))
    bring_scores(scores, data, spec, out, name, key, first_row, axes, sign,
                 Setting(device, l2, intercept, memory, network))


@app.command("path-integral")
def path_integral(
    data: Data,
    example: Annotated[int, typer.Option(help="The training example that gains weight, counted from 0.")],
    out: Annotated[Path, typer.Option(help="Table to write: a row for each query.", metavar="CSV")],
    alpha: Annotated[float, typer.Option(help="The weight at the end of the path.")] = 0.1,
    behavior: Annotated[str, typer.Option(help="A behavior with a gradient; `list` shows them.")] = "query_loss",
    nodes: Annotated[int, typer.Option(help="Re-optimised points in between.", min=1, max=200)] = 8,
    device: Device = "auto", l2: L2 = 1e-4, intercept: Intercept = False,
) -> None:
    """Check re-optimisation: the rate integrated along an upweighting path against the difference of its ends."""
    from engine.cli.paths import write_path_integral
    from engine.cli.scoring import Setting

    write_path_integral(data, behavior, alpha, example, nodes, out, Setting(device, l2, intercept))


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment; `list` shows them.")],
    preset: Annotated[str, typer.Option(help="The scale: small or paper.")] = "small",
    seeds: Annotated[int | None, typer.Option(help="How many seeds (default: those of the preset).", min=1,
                                              max=1000)] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for NAME/PRESET/results.csv and manifest.json (default: "
                                                  "assets/results).", metavar="DIR")] = None,
    device: Device = "auto", memory: Memory = 4.0,
    model: Annotated[str | None, typer.Option(help="For studies of language models: a folder, a name under "
                                                   "WHICHFLUENCE_MODELS, or a name on the Hugging Face hub.",
                                              metavar="NAME_OR_PATH")] = None,
) -> None:
    """Recompute a table or figure of the paper (resumable)."""
    from engine.cli.reproduction import reproduce

    reproduce(name, preset, seeds, out, device, memory, model)


@app.command("noisy-labels")
def noisy_labels(
    source: Annotated[str, typer.Option(help="Data, noise, model and seed as JSON, as the Noisy labels page gives "
                                             "them.", metavar="JSON")],
    out: Annotated[Path, typer.Option(help="The suspicion of every training label, by method and trusted behavior.",
                                      metavar="CSV")],
    device: Device = "auto", memory: Memory = 4.0,
) -> None:
    """Train on labels as they are, and rank them by how likely they are wrong (resumable)."""
    from engine.cli.noisy_labels import noisy_labels

    noisy_labels(source, out, device, memory)


@app.command("what-if-labels")
def what_if_labels(
    source: Annotated[str, typer.Option(help="Data, noise, model and seed as JSON, as for noisy-labels.",
                                        metavar="JSON")],
    changes: Annotated[Path, typer.Option(help="A CSV with the columns row, of the training set, and label: the one to "
                                               "use, or nothing where the example is removed.", metavar="CSV")],
    out: Annotated[Path, typer.Option(help="Accuracy before and after to write.", metavar="CSV")],
    seeds: Annotated[int, typer.Option(help="Training seeds; each trains on the labels as they are and as changed.",
                                       min=1, max=100)] = 3,
    device: Device = "auto", memory: Memory = 4.0,
) -> None:
    """Train again without some examples, or with other labels, and compare accuracies (resumable)."""
    from engine.cli.noisy_labels import what_if_labels

    what_if_labels(source, changes, out, seeds, device, memory)


@app.command()
def attribute(
    run: Annotated[str, typer.Option(help="Language model, task, recipe, seed and, if you like, records to explain, as "
                                          "JSON or a file of it, as the Language models page gives them.",
                                     metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Every training record with its score under each estimator and behavior.",
                                      metavar="CSV")],
    device: Device = "auto", memory: Memory = 4.0,
) -> None:
    """Fine-tune a language model, and score its training records for queries (resumable)."""
    from engine.cli.language import attribute

    attribute(run, out, device, memory)


@app.command()
def caches(
    delete: Annotated[list[str] | None, typer.Option(help="A training to remove with its gradients, by its digest, or "
                                                          "`all`; repeat it for several.", metavar="DIGEST")] = None,
) -> None:
    """List what trainings of language models keep on disk, and remove it."""
    from engine.cli.language import caches

    caches(delete or [])


@app.command("export-problem")
def export_problem(
    source: Annotated[str, typer.Option(help="Dataset, sizes and seed as JSON, as a page gives them.",
                                        metavar="JSON")],
    out: Annotated[Path, typer.Option(help="The problem to write.", metavar="NPZ")],
) -> None:
    """Write the problem that a page shows, for `influence` and `compare`."""
    from engine.cli.export import export_problem

    export_problem(source, out)


@app.command("list")
def list_() -> None:
    """What there is to choose from, by the names to write."""
    from engine.cli.overview import catalogue

    print(catalogue())


@app.command()
def doctor() -> None:
    """Device, versions, and which data and models are found."""
    from engine.cli.overview import diagnosis

    print(diagnosis())

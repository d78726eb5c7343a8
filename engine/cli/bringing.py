"""`bring` writes scores of other programs as scores.npz with a manifest, which `compare` and `explain` read."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole, write_together
from engine.basics.options import Options
from engine.brought.claim import AXES, ESTIMATOR, MEANING, SIGNS, Claim, Preview, agreement_with, bring, preview
from engine.brought.files import read_table
from engine.brought.header_row import AUTO, CHOICES, Numbering
from engine.cli.commands import PROGRAM
from engine.cli.scoring import Setting, budget, check_output
from engine.cli.specs import read_object, read_spec
from engine.metrics.agreement import METRICS
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.sealed import plain


def bring_scores(scores: Path, data: Path, spec: Path, out: Path, name: str, key: str, first_row: str, axes: str,
                 sign: str, setting: Setting) -> None:
    """Write what was brought as scores.npz and manifest, both or neither, and print how it was read."""
    manifest = out.with_suffix(".json")
    check_output(out, ".npz", inputs=(scores, data, spec), also=(manifest,))
    wanted_axes, wanted_sign = _choice("--axes", axes, list(AXES)), _choice("--sign", sign, list(SIGNS.values()))
    first_row = _choice("--first-row", first_row, list(CHOICES)) or AUTO
    claimed, available = read_spec(spec), budget(setting.memory)
    problem = setting.problem(data)
    table = read_table(scores, "", key, first_row, Numbering.of(problem))
    if table.first_row.doubt:
        raise InvalidInput(f"{table.first_row.doubt} Give --first-row names, or --first-row scores.")
    reference = compute(problem, Scoring.of(claimed.behavior, claimed.intervention, claimed.process),
                        Options(budget=available))[0]
    seen = preview(problem, table, reference.oriented)
    chosen_axes = wanted_axes or seen.likely.axes
    chosen_sign = {text: number for number, text in SIGNS.items()}[wanted_sign] if wanted_sign else seen.likely.sign
    if not wanted_sign and not seen.certain:
        raise InvalidInput(f"{seen.reasons[-1]} Give --sign plus, or --sign minus.")
    brought = bring(problem, table, claimed.specification, name or scores.stem, chosen_axes, chosen_sign)
    content = _npz(brought)
    record = {**brought.provenance, "command": _command(scores, data, spec, out, name, key, table.first_row.kind,
                                                        chosen_axes, SIGNS[chosen_sign], setting),
              "files": {out.name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}}}
    write_together({out: content, manifest: json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"})
    print(_told(seen, brought, reference, chosen_axes, chosen_sign))


def read_scores(paths: Sequence[Path], problem) -> dict[str, Scores]:
    """name -> scores of scores.npz files with their manifests, by `bring` or by `influence`, for this problem.

    Raises `InvalidInput` for files that do not belong together or to the problem.
    """
    found: dict[str, Scores] = {}
    for path in paths:
        scores = _read(path, problem)
        name = scores.scoring.name if isinstance(scores.scoring, Claim) else path.stem
        if name in found:
            raise InvalidInput(f"Two of the score files are named `{name}`; give one another name.")
        found[name] = scores
    return found


def _read(path: Path, problem) -> Scores:
    manifest = path.with_suffix(".json")
    record = read_object(manifest)
    content = read_whole(path, "score file")
    written = [entry.get("sha256") for entry in record.get("files", {}).values()] if isinstance(
        record.get("files"), dict) else []
    if hashlib.sha256(content).hexdigest() not in written:
        raise InvalidInput(f"`{path}` is not the file that its manifest `{manifest.name}` describes; bring the scores "
                           "again.")
    if record.get("data") != problem.fingerprint:
        raise InvalidInput(f"The scores in `{path}` belong to another problem than --data; give the problem that they "
                           "were brought for, with the same options.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        values, candidates, converged, residual = (arrays[name] for name in ("scores", "candidates", "converged",
                                                                             "residual"))
    spec = {key: value for key, value in record["spec"].items() if key != "behavior_fingerprint"}
    scoring = Claim.parse(spec) if str(spec.get("estimator")).startswith(ESTIMATOR) else Scoring.parse(spec)
    return Scores(scoring, values, candidates, converged, residual, record)


def _choice(option: str, text: str, known: list[str]) -> str:
    """The chosen one of `known`, empty for auto."""
    if text not in (AUTO, *known):
        raise InvalidInput(f"{option} is `{text}`; give {', '.join(known)} or {AUTO}.")
    return "" if text == AUTO else text


def _told(seen: Preview, brought: Scores, reference: Scores, axes: str, sign: int) -> str:
    """What was read and how it agrees with the exact answer, as text for the terminal."""
    lines = [*seen.reasons, f"Taken: {AXES[axes]}; sign {SIGNS[sign]}, {MEANING[sign]}."]
    lines += [f"  {METRICS[name].title:<16} {found.mean:+.3f} ± {found.ci95:.3f} with the exact answer"
              for name, found in agreement_with(reference, brought, METRICS).items()]
    flagged = int((~brought.converged).sum())
    return "\n".join(lines + ([f"{flagged} candidates have scores that are not finite, and are flagged."]
                              if flagged else []))


def _npz(scores: Scores) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, scores=scores.values, candidates=scores.candidates, converged=scores.converged,
             residual=scores.residual)
    return buffer.getvalue()


def _command(scores: Path, data: Path, spec: Path, out: Path, name: str, key: str, first_row: str, axes: str,
             sign: str, setting: Setting) -> str:
    paths = [str(path.name if path.is_absolute() else path) for path in (scores, data, spec, out)]
    named = [*(["--name", name] if name else []), *(["--key", key] if key else []),
             *(["--first-row", first_row] if scores.suffix.lower() == ".csv" else [])]
    return f"{PROGRAM} " + shlex.join(["bring", "--scores", paths[0], "--data", paths[1], "--spec", paths[2], "--out",
                                       paths[3], *named, "--axes", axes, "--sign", sign, *setting.arguments])

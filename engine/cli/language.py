"""`caches` shows and removes what trainings of language models keep; `attribute` scores records for queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from engine.applications.language import kept
from engine.applications.language.attribution import Setting
from engine.applications.language.records import Record
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.sizes import spell_bytes
from engine.cli.scoring import budget, check_output
from engine.jobs import Bar, run_job
from engine.problems.problem import pick_device
from engine.runs import language as language_run
from engine.runs import language_kept

ALL, SHOWN = "all", 10


def caches(delete: list[str]) -> None:
    """List every training with its size, or remove some first."""
    named = [training.digest for training in kept.trainings()] if ALL in delete else [
        _digest(given) for given in delete]
    for digest in named:
        print(f"Deleted {digest}: {spell_bytes(language_kept.delete(digest))} freed.")
    found = kept.trainings()
    if not found:
        print("No training of a language model is kept.")
        return
    busy = language_kept.busy()
    for training in found:
        print(f"{training.digest}  {spell_bytes(training.size):>8}  {language_kept.title(training)}"
              + ("  (in use)" if training.digest in busy else ""))
    total = spell_bytes(sum(training.size for training in found))
    print(f"{total} in all; --delete DIGEST removes one, --delete {ALL} every one. Results are kept.")


def _digest(given: str) -> str:
    """The whole digest of what was typed, at least eight digits of it."""
    found = [training.digest for training in kept.trainings() if training.digest.startswith(given)]
    if len(given) < 8 or len(found) != 1:
        raise InvalidInput(f"`{given}` names {'no' if not found else 'more than one'} training; give a digest that "
                           "`caches` lists, eight digits at least." if len(given) >= 8 else
                           f"`{given}` is too short to name a training; give eight digits of a digest at least.")
    return found[0]


def attribute(run: str, out: Path, device: str, memory: float) -> None:
    """Train or take up a training, score its records, write them, and say which rank first."""
    check_output(out, ".csv", inputs=())
    payload = language_run.payload(*read_run(run))
    options = {"device": str(pick_device(device)), "budget": budget(memory)}
    with Bar("attribution") as bar:
        result = run_job(language_run.KIND, payload, options=options, watch=bar)
    table = result.table("records")
    atomic_write(out, table.to_csv(index=False, lineterminator="\n"))
    facts = result.manifest["facts"]
    if facts["truncated"]:
        print(f"Training records that were longer than the context and lost the start of their prompt: "
              f"{facts['truncated']:,}.")
    if "detection" in result.tables:
        found = result.table("detection")
        print(found[found["metric"] == "AUPRC"].to_string(index=False, float_format="{:.3f}".format))
    shown = language_run.column("tracin", result.manifest["behaviors"][-1])
    best = table.sort_values(shown, ascending=False).head(SHOWN)
    print(f"\nThe records that support the queries most by {shown}:")
    print(pd.DataFrame({"record": best["id"], "score": best[shown].map("{:.3e}".format),
                        "response": best["response"].str[:70]}).to_string(index=False))
    print(f"Written: {out}")


def read_run(text: str) -> tuple[Setting, int, list[Record]]:
    """(setting, seed, records to explain) of the JSON that the page gives, or of the file that it names."""
    try:
        data: Any = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"--run names `{text[:80]}`, which cannot be read ({error.strerror}); give JSON, or a file "
                           "of it.") from None
    except ValueError as error:
        raise InvalidInput(f"--run is not JSON ({error}); copy it from the page, quotes included.") from None
    if not isinstance(data, dict):
        raise InvalidInput("--run is no JSON object; write {\"model\": …, \"task\": …}.")
    rest = {key: value for key, value in data.items() if key not in ("seed", "asked")}
    seed, asked = data.get("seed", 0), data.get("asked", [])
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"`seed` is {seed!r}; give a whole number of at least 0.")
    if not isinstance(asked, list):
        raise InvalidInput("`asked` is no list; give the records to explain, each with a prompt and a response.")
    return Setting.parse(rest), seed, [Record.parse(item) for item in asked]

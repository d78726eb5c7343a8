"""A comparison as one HTML file: charts as SVG, questions, verdicts, manifests and commands; it loads nothing else."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from math import nan
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from app.charts import distribution, figure, heatmap, rank_change, rank_flow, rank_scatter, way
from app.compare import data as comparisons
from app.compare import explanation as explanation_panel
from app.compare import explanation_view
from app.compare import panel as compare_panel
from app.compare import spot_check as spot_check_panel
from app.compare.bring import decided, recompute
from app.widgets.examples import pictures, record_text
from app.widgets.jobs.desk import desk
from app.widgets.results import two_rankings
from app.widgets.results.agreements import plus_minus
from app.widgets.words import chips, look
from app.widgets.words.labels import numbered
from app.widgets.words.labels import short as short_labels
from engine.basics.provenance import versions
from engine.desk import commands, external
from engine.desk.analyses import Explanation, compare
from engine.desk.compared import Compared
from engine.desk.shelves import Saved
from engine.metrics.agreement import FURTHER, METRICS, MeanAgreement
from engine.metrics.agreement import metric as metric_of
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

TOP_PICTURES, SIDE = 8, 56
"""Examples that are shown with their pictures under each of the pair, and pixels of one."""
PAGE = look.text("report.css")


def report(compared: Compared, pair: tuple[int, int], saved: Saved, explained: Explanation | None, link: str,
           query: int | None = None) -> str:
    """The whole file: the conclusion on the pair, the chosen query, then the rest. saved: its name and note; link: the
    full address of the view; query: of the first seed (default: all of them)."""
    labels = numbered(short_labels(compared.scorings))
    sections = [_head(compared, saved, link), _pair(compared, labels, pair), _query(compared, labels, pair, query),
                _examples(compared, labels, pair, query), _explained(compared, pair, explained),
                _agreement(compared, labels, pair), _flow(compared, labels, query), _questions(compared, labels),
                _settings(compared), _external(compared), _manifests(compared, labels), _commands(compared)]
    style = look.text("theme.css").replace("light-dark(#0072B2, #56B4E9)", "#0072B2")
    return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(saved.name)}</title>\n<style>{style}{PAGE}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(section for section in sections if section) + "\n</main>\n</body>\n</html>\n")


def svg(chart: alt.TopLevelMixin, alternative: str, caption: str = "") -> str:
    """A chart as a figure with a picture inside, drawn with the colours of the light theme."""
    picture = vl_convert.vegalite_to_svg(figure.light(figure.specification(chart)))
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure role="img" aria-label="{escape(alternative, quote=True)}">{picture}{text}</figure>'


def _head(compared: Compared, saved: Saved, link: str) -> str:
    note = f"<p>{escape(saved.note)}</p>" if saved.note else ""
    origin = f"Saved {escape(saved.created)}, made with whichfluence {versions()['whichfluence']}."
    where = f' <a href="{escape(link, quote=True)}">Open the live view</a>.' if link else ""
    return (f'<h1>{escape(saved.name)}</h1>\n{note}\n<p class="small">{origin}{where}</p>\n'
            f'<p class="small">{escape(compared.sources[0].dataset)} · '
            f'{escape(compare_panel.small_print(compared))}</p>')


def _questions(compared: Compared, labels: Sequence[str]) -> str:
    varying = chips.differing(compared.scorings)
    rows = [f"<h3>{escape(label)}</h3>{chips.marked(scoring, varying)}<p>{escape(scoring.question)}</p>"
            f'<p class="small">{escape(compare_panel.how_computed([seed[index] for seed in compared.scores]))}</p>'
            for index, (label, scoring) in enumerate(zip(labels, compared.scorings, strict=True))]
    return "<h2>The questions</h2>" + "".join(rows)


def _agreement(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> str:
    sections, candidates = ["<h2>How far the rankings agree</h2>"], int(compared.trusted.sum())
    for name, metric in METRICS.items():
        chart = heatmap.heatmap(comparisons.matrix(compared, name, labels, pair), name,
                                comparisons.chance(name, candidates))
        sections.append(svg(chart, f"Heatmap of {metric.title}", f"{metric.title}. {metric.definition}"))
    sections[1:] = [_beside(sections[1:])]
    table = comparisons.table(compared, labels)
    sections.append(f"<details><summary>All pairs, all measures</summary>{_table(table)}</details>")
    rows = "".join(_verdict(compared, labels, a, b) for a in range(len(labels)) for b in range(a + 1, len(labels)))
    heads = "".join(f'<th class="n">{escape(metric.title)}</th>' for metric in METRICS.values())
    return "\n".join([*sections, "<h3>Verdicts</h3><div class=wide><table><thead><tr><th>first</th><th>second</th>"
                      f"<th>verdict</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"])


def _verdict(compared: Compared, labels: Sequence[str], a: int, b: int) -> str:
    """The row of a pair: its verdict, and each agreement with its 95% interval."""
    values = (compared.comparison.agreement(name, a, b) for name in METRICS)
    cells = "".join(f'<td class="n">{plus_minus(value.mean, value.ci95)}</td>' for value in values)
    return (f"<tr><td>{escape(labels[a])}</td><td>{escape(labels[b])}</td>"
            f"<td>{escape(compared.comparison.verdicts[a][b].headline)}</td>{cells}</tr>")


def _flow(compared: Compared, labels: Sequence[str], query: int | None) -> str:
    """The top of all specifications; of two the pair says it."""
    if len(labels) < 3:
        return ""
    ranked = comparisons.pair(compared, *range(len(labels)))
    top = min(compare_panel.FLOW_TOP, len(ranked.candidates))
    rows = two_rankings.flow(ranked, query, top)
    over = "the mean score over all queries" if query is None else f"query {query}"
    return svg(rank_flow.flow(rows, labels, top, ranked.noun), f"The top {top} of each specification under all of them",
               f"The top {top} of each specification, and their ranks under all of them, for {over}.")


def _examples(compared: Compared, labels: Sequence[str], pair: tuple[int, int], query: int | None) -> str:
    """The top training examples of each of the pair, with their pictures or first words and both ranks."""
    ranked = comparisons.pair(compared, *pair)
    table = two_rankings.ranking(ranked, query)
    over = "all queries, by the mean score" if query is None else f"query {query}"
    columns = "".join(
        f"<div><h3>{escape(labels[index])}</h3>" + "".join(
            _example(compared, row, ranked.noun) for row in table.nsmallest(TOP_PICTURES, side).to_dict("records"))
        + "</div>" for index, side in zip(pair, ("rank_a", "rank_b"), strict=True))
    return f'<h2>The top {TOP_PICTURES} examples, for {over}</h2><div class="top">{_beside([columns])}</div>'


def _example(compared: Compared, row: Mapping[Hashable, Any], noun: str) -> str:
    dataset, sample = desk().sample(compared.sources[0])
    index, called = int(sample.train_index[row["example"]]), sample.called(row["example"])
    record = dataset.record("train", index)
    shown = (pictures.html(dataset, "train", index, SIDE, called) if record is None else
             f"<span>{escape(record_text.short(record))}</span>")
    return (f"<p>{shown}<span>{escape(str(called))} · {escape(noun)} {escape(str(row[noun]))}<br>"
            f"ranks {row['rank_a']:,} and {row['rank_b']:,}</span></p>")


def _settings(compared: Compared) -> str:
    """What was trained on what, over which seeds, with which versions."""
    source = compared.sources[0]
    facts = {"Data and model": source.title, "Sizes": compare_panel.small_print(compared),
             "Seeds": ", ".join(str(one.seed) for one in compared.sources),
             "Device": "; ".join(dict.fromkeys(str(one.provenance.get("device", "")) for one in compared.scores[0])),
             "Versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
             "Source": source.model_dump_json(exclude_defaults=True)}
    rows = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in facts.items() if text)
    return f'<h2>Settings</h2><div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _pair(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> str:
    first, second = (labels[index] for index in pair)
    verdict = compared.comparison.verdicts[pair[0]][pair[1]]
    ranked = comparisons.pair(compared, *pair)
    agreement = compared.comparison.agreement("kendall_tau", *pair)
    said = [compare_panel.agreeing(compared.comparison, pair, int(compared.trusted.sum())),
            *spot_check_panel.at_hand(compared, pair)]
    values = comparisons.per_query(compared, "kendall_tau", *pair)
    top = min(two_rankings.TOP, len(ranked.candidates))
    charts = [
        svg(rank_scatter.density(two_rankings.density(ranked), first, second), "Rank against rank over all queries",
            "Joint ranks, all queries: frequency relative to random order.")]
    slopes = svg(rank_change.rank_change(two_rankings.top_changes(ranked, None), first, second, top, ranked.noun),
            f"The top {top} under both", f"The top {top}, ranked by the mean score over all queries. Query by query, "
            f"{two_rankings.shared(ranked, top):.1f} of {top} are in both on average.")
    if agreement.mean == agreement.mean:
        bins = comparisons.histogram(values.agreement, "kendall_tau", int(compared.trusted.sum()))
        charts.append(svg(distribution.distribution(bins, agreement, "kendall_tau"), "Kendall's τ query by query",
                          "Kendall's τ, query by query."))
    return (f"<h2>{escape(first)} against {escape(second)}</h2><p><strong>{escape(verdict.headline)}.</strong> "
            f"{chips.code(escape(verdict.reason))}</p>{''.join(f'<p>{escape(text)}</p>' for text in said)}"
            f"{_measures(compared, pair)}{_beside(charts)}{slopes}")


def _query(compared: Compared, labels: Sequence[str], pair: tuple[int, int], query: int | None) -> str:
    """What the two rankings say at one query; nothing where none was chosen."""
    if query is None:
        return ""
    first, second = (labels[index] for index in pair)
    ranked = comparisons.pair(compared, *pair)
    top = min(two_rankings.TOP, len(ranked.candidates))
    values = {name: compared.comparison.per_query[name][0, pair[0], pair[1]][query] for name in METRICS}
    said = " · ".join(f"{METRICS[name].title} {plus_minus(float(value), nan)}" for name, value in values.items())
    table = two_rankings.top_changes(ranked, query)
    common = int((table.membership == rank_change.MEMBERSHIP[0]).sum())
    chart = rank_change.rank_change(table, first, second, top, ranked.noun)
    words = compare_panel.query_words(*desk().sample(compared.sources[0]), query)
    return (f"<h2>Query {query}</h2><p>{escape(words)}</p><p>{escape(said)}</p>"
            + svg(chart, f"The top {top} under both for query {query}",
                  f"The top {top} for query {query}: {common} of {top} are in both."))


def _measures(compared: Compared, pair: tuple[int, int]) -> str:
    everything = compare([[seed[index] for index in pair] for seed in compared.scores], ("a", "b"),
                         metrics=(*METRICS, *FURTHER))
    return _measured({name: everything.agreement(name, 0, 1) for name in everything.per_query})


def _measured(agreements: Mapping[str, MeanAgreement]) -> str:
    """Agreements as a table, each with its definition."""
    rows = "".join(f"<tr><td>{escape(metric_of(name).title)}</td>"
                   f'<td class="n">{plus_minus(agreement.mean, agreement.ci95)}</td>'
                   f"<td>{escape(metric_of(name).definition)}</td></tr>" for name, agreement in agreements.items())
    return ('<div class="wide"><table><thead><tr><th>measure</th><th class="n">mean ± 95%</th>'
            f"<th>what it is</th></tr></thead><tbody>{rows}</tbody></table></div>")


def _explained(compared: Compared, pair: tuple[int, int], explained: Explanation | None) -> str:
    if explained is None:
        return ""
    specs = _specs([compared.scorings[index] for index in pair])
    return "\n".join(["<h2>Why they disagree</h2>", _way(explained),
                      f"<p>Save this as explanation-specs.json:</p><pre>{escape(specs)}</pre>",
                      f"<pre>{escape(explanation_panel.command(compared.ranked_sources))}</pre>"])


def _way(explained: Explanation) -> str:
    """An explanation: its sentence, its charts and its remarks."""
    sections = [f"<p><strong>{escape(explained.sentence)}</strong></p>"]
    if explained.links and explained.path > 0:
        sections.append(svg(way.waterfall(explanation_view.steps(explained)), explained.sentence,
                            f"Path: Kendall distance {explained.path:.3f}, direct difference "
                            f"{explained.direct.mean:.3f}, slack {explained.slack:.3f}; {explained.orders} orders of "
                            "the axes averaged."))
        if explained.n_seeds > 1:
            sections.append(svg(way.fractions(*explanation_view.fractions(explained)), "Fractions by seed",
                             f"The fraction of every link: mean and 95% t interval over {explained.n_seeds} seeds, and "
                             "each seed as a dot."))
        sections.append(_table(explanation_view.links_table(explained)))
    sections += [f'<p class="small">{escape(note)}</p>' for note in (*explanation_view.brackets(explained),
                                                                  *explained.notes)]
    return "\n".join(sections)


def _external(compared: Compared) -> str:
    """How scores of other programs were read, and the commands that read them again."""
    known = [(scoring, held) for scoring in compared.scorings
             if not scoring.route.computes and (held := external.facts(scoring)) is not None]
    rows = [f"<h3>{escape(scoring.route.title)}</h3><p>Claimed specification: {escape(scoring.question)} "
            f"{escape(decided(scoring, held))}</p>"
            f"<pre>{escape(recompute(compared.sources[0], scoring, held))}</pre>" for scoring, held in known]
    return "<h2>Scores of other programs</h2>" + "".join(rows) if rows else ""


def _manifests(compared: Compared, labels: Sequence[str]) -> str:
    sections = ["<h2>Manifests</h2>"]
    for source, seed in zip(compared.sources, compared.scores, strict=True):
        sections += [_manifest(f"{label}, seed {source.seed}", scores) for label,
                     scores in zip(labels, seed, strict=True)]
    return "\n".join(sections)


def _manifest(title: str, scores: Scores) -> str:
    text = json.dumps(scores.provenance, indent=1, ensure_ascii=False, default=str)
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _commands(compared: Compared) -> str:
    specs = _specs(compared.scorings)
    return (f"<h2>Recompute it</h2><p>Save this as agreement-specs.json:</p><pre>{escape(specs)}</pre>"
            f"<pre>{escape(commands.compare(compared.ranked_sources, 'agreement'))}</pre>")


def _table(frame: pd.DataFrame) -> str:
    """A frame as a table, numbers to four digits and to the right."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
    head = "".join(f'<th{" class=n" if right else ""}>{escape(str(name))}</th>'
                   for name, right in zip(frame.columns, numeric, strict=True))
    rows = "".join("<tr>" + "".join(f'<td{" class=n" if right else ""}>{escape(_cell(value))}</td>'
                                    for value, right in zip(row, numeric, strict=True)) + "</tr>"
                   for row in frame.itertuples(index=False))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _beside(parts: Iterable[str]) -> str:
    """Parts beside one another, as far as they fit."""
    return f'<div class="beside">{"".join(parts)}</div>'


def _specs(scorings: Sequence[Scoring]) -> str:
    """The specifications as the command line reads them, a line each."""
    listed = json.loads(commands.specs_json(scorings))
    return "[" + ",\n ".join(json.dumps(one, ensure_ascii=False) for one in listed) + "]"


def _cell(value: Any) -> str:
    return f"{value:.4f}".replace("-", "−") if isinstance(value, float) else str(value)

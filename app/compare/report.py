"""A comparison as one HTML file that loads nothing: the conclusion on one page, what stands behind it folded below."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
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
from engine.basics.values import signed
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
BESIDE = 420
"""Pixels of a chart that stands in one of two columns."""
PAGE = look.text("report.css")


def report(compared: Compared, pair: tuple[int, int], saved: Saved, explained: Explanation | None, link: str,
           query: int | None = None) -> str:
    """The whole file: what a busy reader scans, then what stands behind it. saved: its name and note; link: the full
    address of the view; query: of the first seed (default: all of them)."""
    labels = numbered(short_labels(compared.scorings))
    first = [_head(compared, saved, link), _pair(compared, labels, pair),
             _beside([_matrix(compared, labels, pair, "kendall_tau"), _why(explained)]),
             _examples(compared, labels, pair, query)]
    behind = {f"Query {query}": _query(compared, labels, pair, query),
              "Both rankings, query by query": _rankings(compared, labels, pair),
              "Why they disagree, in numbers": _links(compared, pair, explained),
              "All specifications": _agreement(compared, labels, pair) + _flow(compared, labels, query),
              "The questions, and how they were computed": _questions(compared, labels),
              "Scores of other programs": _external(compared), "Settings": _settings(compared),
              "Manifests": _manifests(compared, labels), "Recompute it": _commands(compared)}
    folded = [_folded(title, text, "h2") for title, text in behind.items() if text]
    return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(saved.name)}</title>\n<style>{look.text('theme.css')}{PAGE}</style>\n</head>\n<body>\n"
            "<main>\n" + "\n".join([*first, '<p class="small print">Further sections are collapsed; expanded sections '
                                    'are also printed.</p>', *folded]) + "\n</main>\n</body>\n</html>\n")


def svg(chart: alt.TopLevelMixin, alternative: str, caption: str = "", width: int = figure.WIDTH) -> str:
    """A chart as a figure with a picture inside, drawn with the colours of the light theme. width: in pixels."""
    picture = vl_convert.vegalite_to_svg(figure.light(figure.specification(chart), width))
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure role="img" aria-label="{escape(alternative, quote=True)}">{picture}{text}</figure>'


def _head(compared: Compared, saved: Saved, link: str) -> str:
    note = f"<p>{escape(saved.note)}</p>" if saved.note else ""
    created = f"{datetime.fromisoformat(saved.created):%d %B %Y, %H:%M} UTC"
    origin = f"Saved {created}, made with whichfluence {versions()['whichfluence']}."
    where = f' <a href="{escape(link, quote=True)}">Open the live view</a>.' if link else ""
    return (f'<h1>{escape(saved.name)}</h1>\n{note}\n<p class="small">{origin}{where}</p>\n'
            f'<p class="small">{escape(compared.sources[0].title)} · '
            f'{escape(compare_panel.small_print(compared))}</p>')


def _questions(compared: Compared, labels: Sequence[str]) -> str:
    return "".join(_question(compared, labels, index, chips.marked(compared.scorings[index],
                                                                   chips.differing(compared.scorings)))
                   + f'<p class="small">{escape(compare_panel.how_computed([seed[index] for seed in compared.scores]))}'
                   "</p>" for index in range(len(labels)))


def _question(compared: Compared, labels: Sequence[str], index: int, chip_row: str) -> str:
    """A specification in words."""
    return f"<h3>{escape(labels[index])}</h3>{chip_row}<p>{escape(compared.scorings[index].question)}</p>"


def _matrix(compared: Compared, labels: Sequence[str], pair: tuple[int, int], name: str) -> str:
    metric, chance = METRICS[name], comparisons.chance(name, int(compared.trusted.sum()))
    return svg(heatmap.heatmap(comparisons.matrix(compared, name, labels, pair), name, chance),
               f"Heatmap of {metric.title}", f"{metric.title}. {metric.definition}")


def _agreement(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> str:
    charts = _beside(_matrix(compared, labels, pair, name) for name in METRICS if name != "kendall_tau")
    rows = "".join(_verdict(compared, labels, a, b) for a in range(len(labels)) for b in range(a + 1, len(labels)))
    heads = "".join(f'<th class="n">{escape(metric.title)}</th>' for metric in METRICS.values())
    return (f"{charts}<div class=wide><table><thead><tr><th>first</th><th>second</th><th>verdict</th>{heads}</tr>"
            f"</thead><tbody>{rows}</tbody></table></div>"
            + _folded("All pairs, all measures", _table(comparisons.table(compared, labels))))


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
    over = "all queries, by the mean score" if query is None else f"query {query}, {_worded(compared, query)}"
    columns = "".join(
        f"<div><h3>{escape(labels[index])}</h3>" + "".join(
            _example(compared, row, ranked.noun) for row in table.nsmallest(TOP_PICTURES, side).to_dict("records"))
        + "</div>" for index, side in zip(pair, ("rank_a", "rank_b"), strict=True))
    return (f"<h2>The top {TOP_PICTURES} training examples, for {escape(over)}</h2>"
            f'<div class="top">{_beside([columns])}</div>')


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
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _pair(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> str:
    """The verdict on the pair, its agreement in numbers, and the two questions."""
    candidates = int(compared.trusted.sum())
    numbers = "".join(f"<div><b>{plus_minus(value.mean, value.ci95)}</b>{escape(metric.title)}</div>"
                      for name, metric in METRICS.items() for value in [compared.comparison.agreement(name, *pair)])
    said = [compare_panel.agreeing(compared.comparison, pair, candidates), *spot_check_panel.at_hand(compared, pair)]
    listed = compared.scorings
    both = [f"<div>{_question(compared, labels, index, chips.html(listed[index], listed[other]))}</div>"
            for index, other in zip(pair, reversed(pair), strict=True)]
    return (chips.verdict_html(compared.comparison.verdicts[pair[0]][pair[1]]) + f'<div class="numbers">{numbers}</div>'
            + "".join(f'<p class="small">{escape(text)}</p>' for text in said if text) + _beside(both))


def _rankings(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> str:
    """The two rankings rank by rank, τ query by query, and all measures."""
    first, second = (labels[index] for index in pair)
    ranked = comparisons.pair(compared, *pair)
    agreement = compared.comparison.agreement("kendall_tau", *pair)
    top = min(two_rankings.TOP, len(ranked.candidates))
    charts = [svg(rank_scatter.density(two_rankings.density(ranked), first, second),
                  "Rank against rank over all queries",
                  "Joint ranks, all queries: frequency relative to random order.")]
    slopes = svg(rank_change.rank_change(two_rankings.top_changes(ranked, None), first, second, top, ranked.noun),
                 f"The top {top} under both", f"The top {top}, ranked by the mean score over all queries. Query by "
                 f"query, {two_rankings.shared(ranked, top):.1f} of {top} are in both on average.")
    if agreement.mean == agreement.mean:
        values = comparisons.per_query(compared, "kendall_tau", *pair)
        bins = comparisons.histogram(values.agreement, "kendall_tau", int(compared.trusted.sum()))
        charts.append(svg(distribution.distribution(bins, agreement, "kendall_tau"), "Kendall's τ query by query",
                          "Kendall's τ, query by query."))
    return _beside(charts) + slopes + _measures(compared, pair)


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
    return (f"<p>{escape(_worded(compared, query))}</p><p>{escape(said)}</p>"
            + svg(chart, f"The top {top} under both for query {query}",
                  f"The top {top} for query {query}: {common} of {top} are in both."))


def _worded(compared: Compared, query: int) -> str:
    return compare_panel.query_words(*desk().sample(compared.sources[0]), query)


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


def _why(explained: Explanation | None) -> str:
    """An explanation: its sentence and its waterfall."""
    if explained is None:
        return ""
    chart = svg(way.waterfall(explanation_view.steps(explained)), explained.sentence, (
        f"Path: Kendall distance {explained.path:.3f}, direct difference {explained.direct.mean:.3f}, slack "
        f"{explained.slack:.3f}; mean over {explained.orders} order{'s' if explained.orders > 1 else ''} of the axes."
    ), BESIDE) if _has_path(explained) else ""
    return f"<div><p><strong>{escape(explained.sentence)}</strong></p>{chart}</div>"


def _has_path(explained: Explanation) -> bool:
    return bool(explained.links) and explained.path > 0


def _links(compared: Compared, pair: tuple[int, int], explained: Explanation | None) -> str:
    """The links of an explanation, its remarks, and the command that computes it again."""
    if explained is None:
        return ""
    sections = []
    if _has_path(explained):
        if explained.n_seeds > 1:
            sections.append(svg(way.fractions(*explanation_view.fractions(explained)), "Fractions by seed",
                                "The fraction of every link: mean and 95% t interval over "
                                f"{explained.n_seeds} seeds, and each seed as a dot."))
        sections.append(_table(explanation_view.links_table(explained)))
    sections += [f'<p class="small">{escape(note)}</p>' for note in (*explanation_view.brackets(explained),
                                                                  *explained.notes)]
    return "\n".join([*sections, "<p>Save this as explanation-specs.json:</p>"
                      f"<pre>{escape(_specs([compared.scorings[index] for index in pair]))}</pre>",
                      f"<pre>{escape(explanation_panel.command(compared.ranked_sources))}</pre>"])


def _external(compared: Compared) -> str:
    """How scores of other programs were read, and the commands that read them again."""
    known = [(scoring, held) for scoring in compared.scorings
             if not scoring.route.computes and (held := external.facts(scoring)) is not None]
    rows = [f"<h3>{escape(scoring.route.title)}</h3><p>Claimed specification: {escape(scoring.question)} "
            f"{escape(decided(scoring, held))}</p>"
            f"<pre>{escape(recompute(compared.sources[0], scoring, held))}</pre>" for scoring, held in known]
    return "".join(rows)


def _manifests(compared: Compared, labels: Sequence[str]) -> str:
    return "\n".join(_folded(f"{label}, seed {source.seed}", f"<pre>{escape(_manifest(scores))}</pre>")
                     for source, seed in zip(compared.sources, compared.scores, strict=True)
                     for label, scores in zip(labels, seed, strict=True))


def _manifest(scores: Scores) -> str:
    return json.dumps(scores.provenance, indent=1, ensure_ascii=False, default=str)


def _folded(title: str, text: str, heading: str = "span") -> str:
    return f"<details><summary><{heading}>{escape(title)}</{heading}></summary>{text}</details>"


def _commands(compared: Compared) -> str:
    specs = _specs(compared.scorings)
    return (f"<p>Save this as agreement-specs.json:</p><pre>{escape(specs)}</pre>"
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
    return signed(value, 4) if isinstance(value, float) else str(value)

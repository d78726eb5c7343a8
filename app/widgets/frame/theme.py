"""The look: one hue and one letter for each axis, everywhere; tabular figures; few lines."""

import streamlit as st

AXIS_COLORS = {"B": "#0072B2", "P": "#B34E00", "T": "#00704F"}
SERIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F"]

STYLE = """
<style>
:root { --wf-b: #0072B2; --wf-p: #B34E00; --wf-t: #00704F; --wf-e: #5b5f66; }
.wf-chips { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; margin: .15rem 0; }
.wf-chip { display: inline-flex; align-items: center; gap: .4rem; padding: .08rem .55rem .08rem .12rem;
  border-radius: 6px; font-size: .86rem; line-height: 1.5; font-variant-numeric: tabular-nums;
  border: 1px solid color-mix(in srgb, currentColor 16%, transparent); }
.wf-chip b { color: #fff; border-radius: 4px; padding: 0 .38rem; font-size: .76rem; }
.wf-chip.B b { background: var(--wf-b); } .wf-chip.P b { background: var(--wf-p); }
.wf-chip.T b { background: var(--wf-t); } .wf-chip.E b { background: var(--wf-e); }
.wf-chip.B.differs { background: color-mix(in srgb, var(--wf-b) 20%, transparent); border-color: var(--wf-b); }
.wf-chip.P.differs { background: color-mix(in srgb, var(--wf-p) 20%, transparent); border-color: var(--wf-p); }
.wf-chip.T.differs { background: color-mix(in srgb, var(--wf-t) 20%, transparent); border-color: var(--wf-t); }
.wf-chip.E.differs { background: color-mix(in srgb, var(--wf-e) 26%, transparent); border-color: var(--wf-e); }
.wf-chip.same { opacity: .82; }
.wf-question { font-size: 1.06rem; line-height: 1.5; margin: .2rem 0 .6rem; max-width: 62rem; }
.wf-mark { background: none; color: inherit; padding-bottom: .05em; border-bottom: 2px solid; }
.wf-mark.B { border-color: var(--wf-b); } .wf-mark.P { border-color: var(--wf-p); }
.wf-mark.T { border-color: var(--wf-t); }
.wf-verdict { border-left: 4px solid var(--wf-e); padding: .45rem .9rem; margin: .4rem 0 .8rem; max-width: 62rem;
  background: color-mix(in srgb, currentColor 5%, transparent); border-radius: 0 6px 6px 0; }
.wf-verdict strong { display: block; font-size: 1.02rem; }
.wf-verdict.same { border-color: var(--wf-t); } .wf-verdict.approximation { border-color: var(--wf-p); }
.wf-verdict.mismatch { border-color: var(--wf-b); } .wf-verdict.both { border-color: #8f4b78; }
.wf-note { font-size: .87rem; opacity: .88; max-width: 62rem; }
.wf-row { display: flex; align-items: baseline; gap: .6rem; }
.wf-number { min-width: 1.2rem; text-align: right; opacity: .8; font-size: .9rem; }
.wf-known { font-size: .84rem; opacity: .85; }
.wf-matrix { border-collapse: separate; border-spacing: 2px; width: 100%; font-variant-numeric: tabular-nums;
  --cell: 60px; font-size: .95rem; margin: 0; }
.wf-matrix.many { --cell: 44px; font-size: .85rem; } .wf-matrix.most { --cell: 31px; font-size: .7rem; }
.wf-matrix :is(th, td) { border: 0; padding: 0; }
.wf-matrix thead th { font-weight: 400; text-align: center; opacity: .8; font-size: .85rem; }
.wf-matrix tbody th { font-weight: 400; text-align: left; width: 100%; padding: .1rem .3rem .1rem 0; }
.wf-matrix td { min-width: var(--cell); height: 1px; }
.wf-matrix .wf-chips { margin: 0; gap: .2rem; } .wf-matrix .wf-chip { font-size: .78rem; padding-right: .4rem; }
.wf-matrix.most .wf-chip { font-size: .72rem; gap: .25rem; padding-right: .3rem; }
.wf-matrix .wf-row { align-items: center; gap: .3rem; }
.wf-handle { display: grid; justify-items: center; line-height: 1.15; min-width: 1.7rem; }
.wf-handle .wf-number { min-width: 0; }
.wf-cell { width: 100%; height: 100%; min-height: 38px; border: 2px solid transparent; border-radius: 4px; padding: 0;
  font: inherit; cursor: pointer; color: light-dark(#1B1F24, #E6EAEE); background: light-dark(var(--l), var(--d)); }
.wf-matrix.most .wf-cell { min-height: 30px; }
.wf-still { display: grid; place-items: center; box-sizing: border-box; cursor: default; }
.wf-floor { display: block; font-size: .68em; font-weight: 400; line-height: 1.1; }
.wf-cell.strong { color: light-dark(#FFFFFF, #0B0E11); }
.wf-cell:hover { border-color: color-mix(in srgb, currentColor 45%, transparent); }
.wf-cell[aria-pressed="true"] { border-color: light-dark(#1B1F24, #E6EAEE); font-weight: 700; }
.wf-matrix .wf-diagonal { min-width: var(--cell); border-radius: 4px;
  background: color-mix(in srgb, currentColor 7%, transparent); }
.wf-shade { background: light-dark(var(--l), var(--d)); }
[class*="st-key-wf-rows-"] { --rows: 12; --row: 3.8rem; }
.st-key-wf-rows-1 { --rows: 1; } .st-key-wf-rows-2 { --rows: 2; } .st-key-wf-rows-3 { --rows: 3; }
.st-key-wf-rows-4 { --rows: 4; } .st-key-wf-rows-5 { --rows: 5; } .st-key-wf-rows-6 { --rows: 6; }
.st-key-wf-rows-7 { --rows: 7; } .st-key-wf-rows-8 { --rows: 8; } .st-key-wf-rows-9 { --rows: 9; }
[class*="st-key-wf-rows-"]:not(:has(.wf-matrix)) { min-height: calc(var(--rows) * var(--row) + 3.5rem); }
.wf-matrix details { position: relative; }
.wf-matrix summary { list-style: none; cursor: pointer; padding: 0 .4rem; border-radius: 4px; line-height: 1.2; }
.wf-matrix summary::-webkit-details-marker { display: none; }
.wf-matrix summary:hover { background: color-mix(in srgb, currentColor 10%, transparent); }
.wf-menu { position: absolute; left: 0; top: 1.4em; z-index: 30; display: grid; min-width: 8rem; padding: .25rem;
  border-radius: 6px; background: light-dark(#FFFFFF, #191F26);
  border: 1px solid color-mix(in srgb, currentColor 22%, transparent); box-shadow: 0 4px 14px rgb(0 0 0 / .18); }
.wf-menu button { all: unset; cursor: pointer; padding: .3rem .6rem; border-radius: 4px; font-size: .88rem; }
.wf-menu button:is(:hover, :focus-visible) { background: color-mix(in srgb, currentColor 10%, transparent); }
.wf-sheet { display: none; }
.wf-asked { font-size: .92rem; line-height: 1.4; } .wf-asked .wf-chips { margin: .1rem 0; }
.wf-asked .wf-chip { font-size: .8rem; }
.wf-announced:empty { display: none; }
.st-key-wf-dock { position: sticky; top: 3.4rem; padding-top: .6rem; }
.st-key-wf-dock .wf-verdict { margin: 0; font-size: .92rem; line-height: 1.45; }
.wf-mark-wrong { color: light-dark(#B34E00, #F08A3C); font-weight: 600; }
.wf-mark-fine { color: light-dark(#00704F, #2FBF93); font-weight: 600; }
.wf-mark-unsure { color: light-dark(#0072B2, #56B4E9); font-weight: 600; }
.st-key-wf-desk-keys { min-height: 1.4rem; }
.wf-pressed { font-size: .84rem; opacity: .85; }
#vg-tooltip-element img { width: 84px; height: 84px; object-fit: contain; image-rendering: pixelated; }
.st-key-wf-hovered { position: absolute; width: 0; overflow: hidden; }
.wf-hovered { position: fixed; z-index: 90; pointer-events: none; image-rendering: pixelated; border-radius: 4px;
  background-repeat: no-repeat; border: 1px solid color-mix(in srgb, currentColor 40%, transparent); }
.wf-picture { image-rendering: pixelated; border-radius: 4px; display: inline-block;
  border: 1px solid color-mix(in srgb, currentColor 16%, transparent); }
.wf-cards { display: grid; grid-template-columns: minmax(10rem, 3fr) 5fr 5fr; gap: 1rem; margin: .4rem 0; }
.wf-card { padding: .9rem 1rem; border-radius: 8px; font-size: .92rem; line-height: 1.5;
  border: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
.wf-card p { margin: .5rem 0 0; } .wf-card .wf-chips { margin-top: .6rem; }
.wf-card-title { font-weight: 600; margin-bottom: .5rem; }
.st-key-wf-first-look { min-height: 35rem; }
@media (max-width: 900px) { .wf-cards { grid-template-columns: 1fr; } }
.wf-group { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; margin: .2rem 0 .6rem; }
.wf-num { font-variant-numeric: tabular-nums; }
.wf-entry { display: flex; gap: .9rem; align-items: flex-start; min-height: 96px; overflow-wrap: anywhere; }
.wf-entry > div:last-child { min-width: 0; } .wf-entry p { margin: .25rem 0 0; }
.wf-entry h2 { font-size: 1.02rem; font-weight: 600; line-height: 1.35; padding: 0; margin: 0; letter-spacing: 0; }
.wf-entry-facts { font-size: .85rem; opacity: .88; } .wf-entry-note { white-space: pre-line; font-size: .93rem; }
.wf-tag { display: inline-block; padding: .05rem .5rem; margin: 0 .3rem .2rem 0; border-radius: 999px;
  font-size: .82rem; background: color-mix(in srgb, currentColor 9%, transparent); }
.wf-thumb { flex: none; width: 96px; min-height: 72px; border-radius: 6px; overflow: hidden; }
.wf-thumb q { font-size: .74rem; line-height: 1.35; display: block; }
.wf-bars { display: flex; gap: 1px; width: 96px; height: 72px; } .wf-bars i { flex: 1; position: relative; }
.wf-bars b { position: absolute; left: 0; right: 0; background: light-dark(#0072B2, #56B4E9); }
.wf-thumb-kind { display: grid; place-items: center; text-align: center; font-size: .76rem; padding: .3rem;
  background: color-mix(in srgb, currentColor 7%, transparent); box-sizing: border-box; }
.wf-thumb-pictures { display: grid; grid-template-columns: 46px 46px; gap: 4px; }
.wf-thumb-pictures img { object-fit: contain; image-rendering: pixelated; border-radius: 3px; }
.wf-mini { display: grid; gap: 1px; width: 96px; aspect-ratio: 1; }
.wf-mini i { border-radius: 1px; background: color-mix(in srgb, currentColor 7%, transparent); }
.wf-mini i.wf-shade { background: light-dark(var(--l), var(--d)); }
.wf-lead { font-size: 1.15rem; line-height: 1.55; max-width: 54rem; margin: 0; }
.wf-keys { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .88rem; margin: 0 0 .5rem; }
.wf-key { display: inline-flex; align-items: center; gap: .4rem; }
.wf-key i { width: .8rem; height: .8rem; border-radius: 3px; display: inline-block; }
.wf-term { position: relative; border-bottom: 1px dotted currentColor; cursor: help; }
.wf-term:focus-visible { outline: 2px solid light-dark(#0072B2, #56B4E9); outline-offset: 2px; }
.wf-term:hover::after, .wf-term:focus::after { content: attr(data-line); position: absolute; left: 0; top: 1.6em;
  z-index: 20; width: max-content; max-width: min(19rem, 70vw); padding: .45rem .65rem; border-radius: 6px;
  font-size: .84rem; line-height: 1.4; font-weight: 400; white-space: normal; text-align: left;
  background: light-dark(#1B1F24, #E6EAEE); color: light-dark(#FFFFFF, #0B0E11); }
.wf-glossary { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .3rem 1.2rem; margin: 0;
  font-size: .92rem; line-height: 1.45; }
.wf-glossary dt { font-weight: 600; } .wf-glossary dd { margin: 0; }
.wf-lesson { margin: 0 0 .8rem; }
.wf-takeaway { border-left: 4px solid var(--wf-t); padding: .5rem .9rem; margin: .5rem 0 .9rem; max-width: 62rem;
  font-size: 1.02rem; line-height: 1.5; border-radius: 0 6px 6px 0;
  background: color-mix(in srgb, currentColor 5%, transparent); }
.wf-takeaway > strong { display: block; font-size: .82rem; letter-spacing: .02em; }
.wf-specimens { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: .3rem 0 .6rem; }
.wf-specimen { margin: 0; text-align: center; font-size: .82rem; } .wf-specimen figcaption { margin-top: .2rem; }
.wf-specimen.new img { outline: 3px solid #D55E00; outline-offset: 1px; }
.wf-then { font-size: 1.3rem; opacity: .7; padding: 0 .3rem; }
[data-testid="stSidebarHeader"] > :has(> img) { display: flex; align-items: center; gap: .55rem; }
[data-testid="stSidebarHeader"] > :has(> img)::after { content: "Whichfluence"; font-size: 1.12rem;
  font-weight: 650; letter-spacing: -.01em; }
.st-key-wf-guide { max-width: 62rem; }
.st-key-wf-top, .st-key-wf-arrive { position: absolute; }
.st-key-wf-guide [data-testid="stBaseButton-tertiary"] { text-align: left; }
:is(.st-key-choice-find, .st-key-choice-guide, .st-key-choice-heading, .st-key-choice-experiment, .st-key-choice-preset,
  .st-key-choice-measure, .st-key-choice-cardbehavior, .st-key-choice-cardmodels, .st-key-choice-shelf,
  .st-key-choice-tag, .st-key-choice-query) { min-height: 4.25rem; }
.st-key-wf-scoreboard:has([data-testid="stSkeleton"]) { min-height: 68rem; }
.st-key-choice-step, [class*="st-key-choice-lesson-"] { min-height: 3.75rem; }
.st-key-wf-error-asked:has([data-testid="stSkeleton"]) { min-height: 8.33rem; align-content: flex-start; }
:is(.st-key-wf-error-lead, .st-key-choice-panel):has([data-testid="stSkeleton"]) {
  max-height: 1.85rem; overflow: hidden; }
.st-key-wf-lesson-text:has([data-testid="stSkeleton"]) { min-height: 6rem; }
.st-key-wf-map-asked > div { min-height: 4rem; }
.st-key-choice-show { min-height: 2rem; } .st-key-wf-start { min-height: 2.5rem; }
.st-key-compare-preset { min-height: 4.25rem; }
.st-key-wf-preset-note:has([data-testid="stSkeleton"]) { min-height: 2.8rem; }
.st-key-choice-metric:has([data-testid="stSkeleton"]) { max-height: 2rem; overflow: hidden; }
[class*="st-key-run-"] { min-height: 9.5rem; }
.st-key-wf-guide [data-testid="stMarkdownContainer"] :is(p, li) { max-width: 54rem; }
.st-key-wf-guide [data-testid="stMarkdownContainer"] :is(p, li, td code) { overflow-wrap: anywhere; }
.st-key-wf-guide [data-testid="stMarkdownContainer"] td code { white-space: normal; }
.wf-scroll { overflow-x: auto; margin: .4rem 0; }
.wf-table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
.wf-table th, .wf-table td { border: 0; padding: .42rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid color-mix(in srgb, currentColor 13%, transparent); }
.wf-table thead th { font-weight: 600; border-bottom-color: color-mix(in srgb, currentColor 45%, transparent); }
.wf-table th:first-child { text-align: left; font-weight: 400; white-space: normal; min-width: 11rem; }
.wf-table thead th:first-child { font-weight: 600; }
.wf-statements th, .wf-statements td { white-space: normal; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
.wf-statements th:first-child { min-width: 6.2rem; width: 8.5rem; }
.wf-scoreboard th:first-child { width: 40%; } .wf-scoreboard .wf-second { display: block; margin-left: 0; }
.wf-scoreboard th, .wf-scoreboard td { overflow-wrap: break-word; }
.wf-statements summary { font-size: .87rem; opacity: .8; } .wf-statements details p { margin: .2rem 0 .2rem 1rem; }
.wf-axis { color: #fff; border-radius: 4px; padding: 0 .38rem; font-size: .76rem; margin-right: .55rem; }
.wf-second { display: inline-block; margin-left: .5rem; opacity: .8; }
.wf-quiet { opacity: .72; }
[data-testid="stHtml"] a { color: light-dark(#0072B2, #56B4E9); }
.wf-cites a { margin-left: .2rem; text-decoration: none; color: inherit; font-size: 1.05rem; }
.wf-kept.outside { font-weight: 700; }
.wf-footnotes { font-size: .87rem; line-height: 1.5; max-width: 62rem; margin: .8rem 0 0; padding-left: 1.4rem; }
.wf-footnotes li { margin: .25rem 0; }
.wf-facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .3rem 1.2rem;
  margin: .3rem 0; font-size: .92rem; font-variant-numeric: tabular-nums; }
.wf-facts.wf-num { padding: 0; }
.wf-facts dt { opacity: .78; margin: 0; padding: 0; font-weight: 400; }
.wf-facts dd { margin: 0; overflow-wrap: anywhere; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] * { opacity: 1; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] :is(p, strong, em) {
  color: light-dark(#545B64, #B4BBC3); }
[data-testid="stCode"] .token { color: light-dark(#1B1F24, #E6EAEE); }
[data-testid="stCode"] .token:is(.string, .number, .boolean) { color: light-dark(#00604A, #63D1B0); }
[data-testid="stCode"] .token.property { color: light-dark(#005C91, #8FD0F5); }
[data-testid="stCode"] .token.comment { color: light-dark(#545B64, #B4BBC3); }
[data-testid="stCode"] .token:is(.parameter, .function, .keyword) { color: light-dark(#8A3F00, #F0B074); }
:is(a, button, summary):focus-visible { outline: 2px solid light-dark(#0072B2, #56B4E9) !important;
  outline-offset: 1px; }
[data-testid="data-grid-canvas"]:focus-visible { outline: 2px solid light-dark(#0072B2, #56B4E9);
  outline-offset: -2px; }
[data-testid="stMain"] form.vega-bindings .vega-bind label { flex: 1; flex-wrap: nowrap; }
[data-testid="stMain"] form.vega-bindings input[type="range"] { flex: 1; width: 100%; height: 1.6rem; }
.vega-bind .vega-bind-name { white-space: nowrap; } .vega-bind input + span { display: none; }
[data-testid="stMetricValue"], [data-testid="stDataFrame"] { font-variant-numeric: tabular-nums; }
[data-testid="stBaseButton-primary"]:not(:disabled), [data-testid="stBaseButton-primary"]:not(:disabled):hover {
  color: light-dark(#fff, #0b0e11); }
button[data-variant][data-selected="true"], button[data-variant][data-selected="true"] * {
  color: light-dark(#005c91, #8fd0f5); }
[data-testid="stMain"] [data-testid="stPageLink"] a span { color: light-dark(#0072B2, #56B4E9); }
[data-testid="stMainBlockContainer"] { padding: 3.2rem 3rem 4rem; }
@media (max-width: 1200px) { .st-key-wf-first-look { min-height: 49rem; }
  [class*="st-key-wf-rows-"] { --row: 6.2rem; } }
@media (max-width: 900px) { .st-key-wf-first-look { min-height: 79rem; } }
@media (max-width: 640px) { .st-key-wf-same-question { min-height: 7rem; }
  :is(.st-key-wf-paper-lead, .st-key-wf-card-lead) { min-height: 6.5rem; }
  .st-key-wf-paper-counted { min-height: 8rem; } .st-key-wf-card-offer { min-height: 9.6rem; }
  .st-key-wf-card-benchmarks :is(table, tbody, tr, td) { display: block; }
  .st-key-wf-card-benchmarks thead { display: none; }
  .st-key-wf-card-benchmarks td { border: 0; padding: .1rem 0; } .st-key-wf-card-benchmarks tr { padding: .5rem 0; }
  .st-key-wf-card-benchmarks td:first-child { font-weight: 600; }
  .st-key-wf-library-lead { min-height: 8.1rem; }
  .st-key-wf-error-asked:has([data-testid="stSkeleton"]) { min-height: 20.25rem; }
  .st-key-wf-error-lead:has([data-testid="stSkeleton"]) { min-height: 3.25rem; max-height: none; }
  .st-key-choice-panel:has([data-testid="stSkeleton"]) { min-height: 4.25rem; max-height: none; }
  .st-key-wf-first-look { min-height: 85rem; }
  .wf-matrix, .wf-matrix tbody, .wf-matrix tr { display: block; } .wf-matrix thead { display: none; }
  .wf-matrix tr { display: flex; flex-wrap: wrap; gap: 2px; margin-bottom: .5rem; }
  .wf-matrix tbody th { flex: 0 0 100%; box-sizing: border-box; }
  .wf-matrix :is(td, td.wf-diagonal) { flex: 1 1 0; min-width: 0; }
  .wf-matrix td { height: 38px; }
  .wf-matrix.most .wf-cell { font-size: .62rem; border-width: 1px; }
  .wf-sheet { all: unset; box-sizing: border-box; display: block; position: sticky; bottom: .5rem; z-index: 25;
    width: 100%; cursor: pointer; padding: .5rem .8rem; margin-top: .4rem; border-radius: 8px; font-size: .85rem;
    background: light-dark(#FFFFFF, #191F26); border: 1px solid color-mix(in srgb, currentColor 22%, transparent);
    box-shadow: 0 2px 12px rgb(0 0 0 / .2); }
  .wf-sheet > * { display: block; } .wf-sheet:focus-visible { outline: 2px solid light-dark(#0072B2, #56B4E9); }
  .st-key-wf-dock { position: static; scroll-margin-top: 4rem; }
  [data-testid="stButtonGroup"] button { padding-inline: .6rem; }
  .st-key-compare-preset { min-height: 6.5rem; } .st-key-wf-preset-note:has([data-testid="stSkeleton"]) {
    min-height: 4.2rem; }
  [class*="st-key-wf-rows-"] { --row: 6.8rem; }
  .st-key-choice-detail [data-testid="stButtonGroup"] > div { flex-wrap: wrap; }
  .st-key-choice-show { min-height: 4.25rem; } .st-key-wf-map-asked { flex-direction: column; align-items: stretch; }
  [class*="st-key-run-"] { min-height: 13.5rem; }
  [data-testid="stMainBlockContainer"] { padding: 3.2rem 1rem 4rem; }
  .st-key-wf-heatmap-wide { overflow-x: auto; } .st-key-wf-heatmap-wide > div { min-width: 580px; }
  [data-testid="stHeading"] h1 { font-size: 2.25rem; } .wf-lead { font-size: 1.05rem; } .wf-chip { font-size: .8rem; }
  .wf-table th, .wf-table td { padding: .38rem .3rem; } .wf-table thead th { white-space: normal; }
  .wf-table { font-size: .86rem; } .wf-table th:first-child { min-width: 6.6rem; padding-left: 0; }
  .wf-table td .wf-quiet { display: block; }
  .wf-statements th:first-child { min-width: 0; width: 6.2rem; } .wf-second { display: block; margin-left: 0; }
  .wf-scoreboard th:first-child { width: 38%; } .wf-scoreboard { font-size: .85rem; }
  .wf-glossary { grid-template-columns: 1fr; gap: 0; } .wf-glossary dd { margin-bottom: .5rem; }
  .wf-facts { grid-template-columns: 1fr; gap: 0; } .wf-facts dd { margin-bottom: .5rem; } }
</style>
"""

FRAME = """
<style>
[data-testid="stMainBlockContainer"] { max-width: initial; }
[data-testid="stSidebar"]:has([data-testid="stSidebarNavLink"]) [data-testid="stSidebarUserContent"],
[data-testid="stMain"]:has(h1) [data-testid="stMainBlockContainer"] { animation: wf-veil 2.5s step-end; }
[data-testid="stSidebarUserContent"] > *, [data-testid="stMainBlockContainer"] > * {
  animation: wf-stands .2s step-end; }
:is([data-testid="stSidebarUserContent"], [data-testid="stMainBlockContainer"]) > :has([data-testid="stSkeleton"]) {
  animation: none; visibility: var(--wf-veil, visible); }
@keyframes wf-veil { from { --wf-veil: hidden; } }
@keyframes wf-stands { from { visibility: var(--wf-veil, visible); } }
</style>
"""
"""Widgets whose scripts are still on the way stand on the page as boxes of another height, so in its first moments a
page is shown once they are through. See `app.widgets.frame.shell`."""

PLACE = """
<style id="wf-place">
@media (min-width: 769px) {
  [data-testid="stAppViewContainer"]:not(:has([data-testid="stSidebar"])) > :has(> [data-testid="stMain"]) {
    margin-left: 300px; } }
[data-testid="stSidebar"]:not(:has([data-testid="stSidebarNavLink"])) [data-testid="stSidebarUserContent"] {
  visibility: hidden; }
</style>
<script>
new MutationObserver((changes, watch) => {
  if (!document.querySelector('[data-testid="stSidebarNavLink"]')) return;
  document.getElementById('wf-place').remove();
  watch.disconnect();
}).observe(document, {childList: true, subtree: true});
</script>
"""
"""What holds the place of the sidebar until Streamlit has it; then it goes, since a rule on what is *not* on the page
is asked anew at every change of it: a quarter of the browser's time for a click on Compare."""


def apply() -> None:
    """Put the style sheet on the page."""
    st.html(STYLE)

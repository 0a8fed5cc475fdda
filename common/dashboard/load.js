// The page of `sluice load --html`: a run, its charts, and how it compares with one before, out of one file.

import {forgetColors} from './chart.js';
import {phaseStrip, spectrum, timeline} from './load_charts.js';
import {rowsOf, runsOf} from './load_data.js';
import {circumstances, coldStarts, compared, csvOf, decisions, decisionWords, figures, gates, heading, outcomes, percentiles, phases, targets, verdict} from './load_parts.js';
import {duration, el} from './text.js';

const KEYS = {ArrowLeft: -1, ArrowRight: 1};
const PAPER_PART = 0.62;   // of the height of charts: all of them are to be on one page

const text = document.getElementById('data').textContent;
const {run, before} = runsOf(text);
const data = rowsOf(run);
const all = run.scaling?.decisions ?? [];
const said = el('p.formula', {role: 'status', hidden: true});
let chosen = -1;

function choose(place) {
  chosen = place;
  said.hidden = place < 0;
  said.textContent = place < 0 ? '' : decisionWords(all[place]);
}

function picked(time, mark) {
  chart.pin(time);
  const last = mark ? all.indexOf(mark.decision) : all.filter((decision) => decision.at_s <= time).length - 1;
  choose(last);
}

function saveLink(name, kind, content) {
  const link = el('a', {download: name, href: '#'}, kind);
  link.addEventListener('click', () => {
    link.href = URL.createObjectURL(new Blob([content()]));
  });
  return link;
}

function percentileCard() {
  const curves = [{name: 'from the planned time', times: run.latency_ms, answered: run.requests.answered, kind: 'planned'}, {name: 'from sending', times: run.service_ms, answered: run.requests.answered, kind: 'sending'},
    {name: 'before', times: before?.latency_ms, answered: before?.requests.answered, kind: 'past'}];
  const legend = (name, color, dash) => {
    const swatch = el('span.swatch', {'data-legend': dash ? 'dash' : 'line', 'data-curve': color, 'aria-hidden': 'true'});
    return el('span.legend', {}, swatch, name);
  };
  const picture = spectrum(curves);
  return picture ? el('section.card', {'aria-label': 'Percentiles'}, el('div.card-head', {}, el('h2', {}, 'Percentiles'), el('span.note', {}, 'over log 1 / (1 \u2212 p)')),
    el('div.card-body', {}, el('p.legends', {}, legend('from planned', 'planned'), legend('from sending', 'sending'), before ? legend('before', 'past', true) : null), el('div.curves', {}, picture, percentiles(run, before)))) : null;
}

const chart = timeline(run, before, data, before ? rowsOf(before) : null, picked);

function show() {
  const steps = data.step > 1 ? el('p.note', {}, `Each point of the charts is ${duration(data.step)}: the run is long.`) : null;
  const plot = el('section.card.charts', {'aria-label': 'Charts'}, chart.node, phaseStrip(run, chart.axis.to), steps, said,
    el('p.note.screen', {}, 'A click on a chart says what was decided there; \u2190 \u2192 step through decisions, t shows the values as a table, Esc ends both.'));
  const downloads = el('nav.downloads', {'aria-label': 'Downloads'}, saveLink('report.json', 'JSON', () => JSON.stringify(JSON.parse(text).runs.pop())), saveLink('seconds.csv', 'CSV', () => csvOf(run)));
  const rest = circumstances(run);
  rest.prepend(downloads);
  const asserted = gates(run, before);
  const parts = [percentileCard(), coldStarts(run, before), outcomes(run, before)].filter(Boolean);
  document.title = `${run.name || 'Load'} \u2013 sluice load`;
  document.getElementById('charts').replaceWith(heading(run, before), verdict(run, data.rows), el('div.pair', {'data-parts': asserted ? '2' : '1'}, ...[asserted, figures(run, before)].filter(Boolean)), plot,
    el('div.trio', {'data-parts': String(parts.length)}, parts), ...[compared(run), phases(run, before, data.rows), targets(run, before), decisions(run), rest].filter(Boolean));
  const words = document.getElementById('text');
  const kept = el('details.card.more');
  words.replaceWith(kept);
  kept.append(el('summary', {}, 'The report as text'), words);
  chart.describe();
  chart.fit();
}

function keys(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 't') chart.toggleValues();
  if (event.key === 'Escape') {
    chart.pin(null);
    choose(-1);
    if (!chart.values.hidden) chart.toggleValues();
  }
  if (!KEYS[event.key] || !all.length) return;
  const next = Math.min(Math.max(chosen + KEYS[event.key], 0), all.length - 1);
  chart.pin(all[next].at_s);
  choose(next);
}

// Paper is light and narrower than most windows.
function paper(on) {
  document.documentElement.classList.toggle('paper', on);
  if (on) document.documentElement.dataset.theme = 'light';
  else delete document.documentElement.dataset.theme;
  for (const panel of chart.panels) {
    panel.height = Math.round(panel.options.height * (on ? PAPER_PART : 1));
    for (const node of [panel.plot, panel.scale.node]) node.style.height = `${panel.height}px`;
  }
  redraw();
}

function redraw() {
  forgetColors();
  chart.fit();
  chart.draw();
}

show();
document.addEventListener('keydown', keys);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('beforeprint', () => paper(true));
addEventListener('afterprint', () => paper(false));

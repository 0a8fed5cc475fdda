// The page of `sluice simulate --html`: the timeline of a run as charts, above what was printed of it.

import {Chart, band, line, steps} from './chart.js';
import {el, figure, tenths, whole} from './text.js';

// Times of a run that was not recorded count from a midnight, so that the axis shows how long it has run.
const MIDNIGHT = new Date(2000, 0, 1).getTime() / 1000;
// A decision holds until the next one, also over the pause between them.
const STEP_SECONDS = 4;
const KEYS = {ArrowLeft: -1, ArrowRight: 1};

const data = JSON.parse(document.getElementById('data').textContent);
const has = (column) => data.columns.includes(column);

function panics() {
  const spans = [];
  data.rows.forEach((row, i) => {
    const next = data.rows[i + 1];
    const to = next ? next[0] : row[0];
    const last = spans[spans.length - 1];
    if (row[1] && last && last.to >= row[0]) last.to = to;
    else if (row[1]) spans.push({from: row[0], to});
  });
  return spans.map(({from, to}) => ({from: from + base, to: to + base}));
}

function panels() {
  const panic = (label) => band({spans: () => inPanic, color: 'panic', label});
  const all = [{title: 'Replicas', height: 150, floor: 2, text: figure, layers: [panic('panic'),
    steps({name: 'ready', column: 'ready', color: 'ready', text: whole, fill: 'ready-fill'}),
    steps({name: has('recorded') ? 'wanted here' : 'wanted', column: 'want', color: 'strong', text: whole}),
    ...(has('recorded') ? [steps({name: 'wanted as recorded', column: 'recorded', color: 'wine', dash: [5, 3], text: whole})] : [])]},
  {title: 'Load', note: 'requests at once, or each second', height: 130, floor: 1, text: figure, layers: [panic(),
    line({name: 'stable window', column: 'stable', color: 'ready', text: tenths, width: 2}),
    line({name: 'panic window', column: 'panic', color: 'panic', text: tenths})]}];
  if (has('waiting')) {
    all.push({title: 'Waiting', note: 'requests, for a replica', height: 90, floor: 1, text: figure, layers: [panic(),
      steps({name: 'waiting', column: 'waiting', color: 'held', text: whole, fill: 'held-fill'})]});
  }
  return all;
}

const base = data.dated ? 0 : MIDNIGHT;
const inPanic = panics();

if (data.rows.length > 1) {
  const chart = new Chart({panels: panels(), onpick: (time) => chart.pin(time)});
  chart.rows.step = Math.max(STEP_SECONDS, data.step);
  chart.rows.times = data.rows.map((row) => row[0] + base);
  chart.rows.columns = new Map(data.columns.map((name, c) => [name, data.rows.map((row) => row[c + 2])]));
  chart.axis.from = chart.rows.times[0];
  chart.axis.to = chart.rows.times[data.rows.length - 1];
  document.getElementById('charts').append(el('h1', {}, data.title), chart.node);
  chart.describe();
  chart.fit();
  document.addEventListener('keydown', (event) => {
    if (event.key === 't') chart.toggleValues();
    if (event.key === 'Escape') chart.pin(null);
    if (!KEYS[event.key]) return;
    const at = chart.rows.index(chart.axis.pinned ?? chart.axis.from) + KEYS[event.key];
    chart.pin(chart.rows.times[Math.min(Math.max(at, 0), data.rows.length - 1)]);
  });
} else {
  document.getElementById('charts').hidden = true;
}

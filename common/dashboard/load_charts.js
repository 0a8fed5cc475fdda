// Charts of the page of `sluice load --html`: latency, requests, replicas and concurrency on one time axis, and the percentiles.

import {Chart, band, color, line, marks, stack, steps, ticks} from './chart.js';
import {ticksOf} from './load_data.js';
import {ms} from './load_text.js';
import {el, figure, minutes, tenths, whole} from './text.js';

const SVG = 'http://www.w3.org/2000/svg';
const SPECTRUM = {width: 340, height: 190, left: 52, top: 8, bottom: 22};
const PERCENTS = [['min', 0], ['p50', 50], ['p75', 75], ['p90', 90], ['p95', 95], ['p99', 99], ['p99_9', 99.9], ['p99_99', 99.99]];
const HATCH_PIXELS = 5;
const GAP_PIXELS = 5;     // a gap is no narrower
const STARTS_NAMED = 4;   // of more cold starts the texts would cover each other
const SECOND_LINE = 15;   // pixels below the top, under the word of a panic

// Buckets of latency, darker where more requests of the whole run are.
function cells(rows) {
  const most = rows.reduce((top, row) => row.buckets.reduce((peak, [, times]) => Math.max(peak, times), top), 1);
  return {name: 'requests in a cell', color: 'ready', legend: 'heat', column: 'heat', most: () => 0,
    draw(ctx, p) {
      ctx.fillStyle = color('ready');
      for (let i = p.first; i < p.last; i += 1) {
        const left = p.axis.x(rows[i].at);
        const wide = Math.max(1, p.axis.x(rows[i].at + rows[i].step) - left);
        for (const [us, times] of rows[i].buckets) {
          const above = p.y((us + 1) / 1000);
          const below = p.y(((us + 1) / 1000) / 1.2);
          ctx.globalAlpha = 0.14 + 0.7 * (Math.log(1 + times) / Math.log(1 + most));
          ctx.fillRect(left, above, wide, Math.max(1, below - above));
        }
      }
      ctx.globalAlpha = 1;
    }};
}

// Where the generator's own machine put figures in doubt.
function gaps(found) {
  return {most: () => 0,
    draw(ctx, p) {
      ctx.strokeStyle = color('soft');
      ctx.lineWidth = 1;
      for (const mark of found) {
        const from = p.axis.x(mark.at_s);
        const wide = Math.max(GAP_PIXELS, p.axis.x(mark.at_s + mark.ms / 1000) - from);
        ctx.save();
        ctx.beginPath();
        ctx.rect(from, 0, wide, p.height);
        ctx.clip();
        ctx.beginPath();
        for (let y = -wide; y < p.height; y += HATCH_PIXELS) {
          ctx.moveTo(from, y + wide);
          ctx.lineTo(from + wide, y);
        }
        ctx.stroke();
        ctx.restore();
      }
    }};
}

// The texts of cold starts.
function namesOf(starts) {
  return {most: () => 0,
    draw(_, p) {
      for (const {time, text} of starts) p.label(text, p.axis.x(time) + 4, SECOND_LINE, 'held');
    }};
}

function scalingPanels(run, before, behind) {
  const decisions = run.scaling.decisions.map((decision) => ({time: decision.at_s, value: decision.to, filled: decision.mode === 'panic', color: 'panic-mark', decision}));
  return [
    {title: 'Replicas', note: decisions.length ? '\u25c6 decision' : '', height: 112, floor: 2, text: whole, layers: [...behind(),
      stack([{name: 'ready', column: 'ready', color: 'ready-area', text: whole}, {name: 'starting', column: 'starting', color: 'starting', text: whole},
        {name: 'draining', column: 'draining', color: 'draining', text: whole}]),
      steps({name: 'wanted', column: 'desired', color: 'strong', text: whole}),
      ...(before?.scaling ? [steps({name: 'ready, run before', column: 'ready_before', color: 'soft', dash: [4, 3], text: whole})] : []),
      marks({points: () => decisions})]},
    {title: 'Concurrency', note: 'requests at once, averages', height: 100, floor: 1, text: figure, layers: [...behind(),
      line({name: 'stable window', column: 'stable', color: 'ready', text: tenths, width: 2}),
      line({name: 'panic window', column: 'panic', color: 'panic-mark', text: tenths}),
      steps({name: 'what ready replicas should carry', column: 'capacity', color: 'soft', dash: [2, 2], text: tenths}),
      steps({name: 'panic starts', column: 'threshold', color: 'draining', dash: [5, 3], text: tenths, clipped: true, quiet: true})]}];
}

function panels(run, before, rows) {
  const panics = (run.scaling?.panics ?? []).map(({from_s: from, to_s: to}) => ({from, to}));
  const length = panics.reduce((sum, {from, to}) => sum + to - from, 0);
  const starts = (run.scaling?.cold_starts ?? []).map((start) => ({time: Math.max(0, start.at_s - start.total_ms / 1000), text: `cold start ${ms(start.total_ms)}`}));
  const hatched = gaps(run.marks);
  const behind = (label) => [band({spans: () => panics, color: 'panic', label}), hatched];
  const held = run.scaling?.queue_max ?? 0;
  const all = [
    {title: 'Latency', note: 'log scale', height: 190, log: ['low', 'high'], ticks: ticksOf(rows), text: ms, layers: [...behind(length ? `panic ${figure(length)} s` : ''), cells(rows),
      line({name: 'p50', column: 'p50', color: 'deep', text: ms, width: 1.8}), line({name: 'p99', column: 'p99', color: 'wine', text: ms, width: 1.8}),
      ticks({moments: () => starts, color: 'held'}), ...(starts.length <= STARTS_NAMED ? [namesOf(starts)] : [])]},
    {title: 'Requests per second', note: held ? `held at the door: most ${whole(held)}` : '', height: 112, floor: 1, text: figure, layers: [...behind(),
      line({name: 'answered', column: 'answered', color: 'ready', text: figure, fill: 'ready-fill'}),
      line({name: 'planned', column: 'planned', color: 'strong', dash: [4, 3], text: figure, width: 1}),
      ...(run.errors.total ? [line({name: 'errors', column: 'errors', color: 'error', fill: 'error-fill', text: figure, quiet: true})] : []),
      ...(held ? [line({name: 'held, own scale', column: 'queued', color: 'held', fill: 'held-fill', text: whole, peak: (most) => `${whole(most)} held`})] : [])]}];
  if (run.scaling) return [...all, ...scalingPanels(run, before, behind)];
  return [...all, {title: 'In flight', note: 'requests without an answer yet', height: 90, floor: 1, text: whole, layers: [...behind(),
    steps({name: 'in flight', column: 'in_flight', color: 'ready', fill: 'ready-fill', text: whole})]}];
}

/** The panels of a run; `onpick` as of Chart. */
export function timeline(run, before, data, behindRows, onpick) {
  const chart = new Chart({panels: panels(run, before, data.rows), onpick});
  const names = Object.keys(data.rows[0]);
  chart.rows.step = data.step;
  chart.rows.times = data.rows.map((row) => row.at);
  chart.rows.columns = new Map(names.map((name) => [name, data.rows.map((row) => row[name])]));
  if (behindRows) chart.rows.columns.set('ready_before', data.rows.map((_, i) => behindRows.rows[i]?.ready ?? null));
  chart.axis.clock = (at) => minutes(at);
  chart.axis.from = 0;
  chart.axis.to = Math.max(data.end, data.step);
  return chart;
}

/** The phases of a run below its chart. */
export function phaseStrip(run, end) {
  if (run.phases.length < 2) return null;
  const strip = el('div.strip', {'aria-hidden': 'true'}, run.phases.map((phase) => {
    const part = el('span', {title: phase.name}, phase.name);
    part.style.left = `${(100 * phase.at_s) / end}%`;
    part.style.width = `${(100 * phase.for_s) / end}%`;
    return part;
  }));
  return el('div.times-row', {}, el('div'), strip);
}

function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function known(times, answered) {
  return times ? PERCENTS.filter(([, percent]) => percent === 0 || answered * (1 - percent / 100) >= 1 - 1e-9).map(([name, percent]) => [percent, Math.max(times[name], 1e-3)]) : [];
}

/** Percentiles over the log of 1 / (1 - p). `curves`: [{name, times, answered, kind}], of which some may have no times. */
export function spectrum(curves) {
  const lines = curves.map((curve) => ({...curve, points: known(curve.times, curve.answered)})).filter(({points}) => points.length > 1);
  if (!lines.length) return null;
  const all = lines.flatMap(({points}) => points.map(([, value]) => value));
  const low = Math.log10(Math.min(...all) / 1.3);
  const high = Math.log10(Math.max(...all) * 1.3);
  const {width, height, left, top, bottom} = SPECTRUM;
  const far = Math.max(...lines.flatMap(({points}) => points.map(([percent]) => -Math.log10(1 - percent / 100))), 1);
  const x = (percent) => left + (-Math.log10(1 - percent / 100) / far) * (width - left - 14);
  const y = (value) => top + ((high - Math.log10(value)) / (high - low)) * (height - top - bottom);
  const words = lines.map(({name, points}) => `${name}: ${points.map(([percent, value]) => `p${percent} ${ms(value)}`).join(', ')}`).join('; ');
  const node = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'spectrum', 'aria-label': `Percentiles of latency. ${words}`});
  for (const [, percent] of PERCENTS.filter(([name, percent]) => ['p50', 'p90', 'p99', 'p99_9', 'p99_99'].includes(name) && -Math.log10(1 - percent / 100) <= far + 1e-9)) {
    node.append(svg('line', {x1: x(percent), x2: x(percent), y1: top, y2: height - bottom, class: 'grid'}), svg('text', {x: x(percent), y: height - 6, 'text-anchor': 'middle'}, percent));
  }
  for (const value of [1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [10 ** (power - 4), 3 * 10 ** (power - 4)])) {
    if (Math.log10(value) < low || Math.log10(value) > high) continue;
    node.append(svg('line', {x1: left, x2: width - 14, y1: y(value), y2: y(value), class: 'grid'}), svg('text', {x: left - 6, y: y(value) + 4, 'text-anchor': 'end'}, value >= 1000 ? `${value / 1000} s` : ms(value)));
  }
  for (const {points, kind} of lines) {
    node.append(svg('polyline', {points: points.map(([percent, value]) => `${x(percent).toFixed(1)},${y(value).toFixed(1)}`).join(' '), class: `curve ${kind}`}));
  }
  return node;
}

// What the page of `sluice load --html` knows: the report of load/README.md, and that of a run before it, as rows of one time axis.

import {clean} from './text.js';

const TEXT_LENGTHS = {command: 4000, why: 400, url: 400};
const COUNTED = ['sent', 'answered', 'errors', 'not_sent'];
const TAIL_PART = 0.02;   // of the axis, behind the last that happened

// Texts of others are clean from here on. Histograms are numbers.
function read(text) {
  return JSON.parse(text, (key, value) => (typeof value === 'string' && key !== 'histogram' ? clean(value, TEXT_LENGTHS[key]) : value));
}

/** Runs of the page, the last of which it is about; the one before it is what it is compared with, or null. */
export function runsOf(text) {
  const {runs} = read(text);
  return {run: runs[runs.length - 1], before: runs.length > 1 ? runs[0] : null};
}

/** The largest number of microseconds in a bucket of a histogram. */
function edge(index) {
  return index < 256 ? index : (128 + (index % 128) + 1) * 2 ** (Math.floor(index / 128) - 1) - 1;
}

/** `[[microseconds, count]]` of the text of a histogram, in order. */
export function bucketsOf(text) {
  let index = 0;
  return text.split(' ').filter(Boolean).map((word) => {
    const [step, times] = word.split('x');
    index += Number(step);
    return [edge(index), Number(times ?? 1)];
  });
}

function merged(texts) {
  const counts = new Map();
  for (const [us, times] of texts.flatMap(bucketsOf)) counts.set(us, (counts.get(us) ?? 0) + times);
  return [...counts].sort((a, b) => a[0] - b[0]);
}

// In milliseconds, of buckets.
function percentile(buckets, percent) {
  const wanted = Math.max(1, Math.ceil((percent / 100) * buckets.reduce((sum, [, times]) => sum + times, 0)));
  let seen = 0;
  for (const [us, times] of buckets) {
    seen += times;
    if (seen >= wanted) return us / 1000;
  }
  return null;
}

// The rows of all targets at one time, as one.
function joined(rows) {
  const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const buckets = merged(rows.map((row) => row.histogram));
  const most = Math.max(...rows.map((row) => row.max_ms ?? 0)) || null;
  const [one] = rows;
  const quantile = (name, percent) => (rows.length === 1 ? one[name] : buckets.length ? Math.min(percentile(buckets, percent), most) : null);
  return {at: one.at_s, step: one.for_s, buckets, max: most, p50: quantile('p50_ms', 50), p99: quantile('p99_ms', 99), in_flight: sum('in_flight'),
    planned: rows.some((row) => row.rate_planned === null) ? null : sum('rate_planned'), ...Object.fromEntries(COUNTED.map((name) => [name, sum(name) / one.for_s]))};
}

// What an engine said, from its row in force at `from` on until `to`; null: nothing was said yet.
function scalingIn(scaling, from, to) {
  const places = Object.fromEntries(scaling.columns.map((name, place) => [name, place]));
  const value = (row, name) => (row ? row[places[name]] : null);
  const inside = scaling.rows.filter((row) => row[0] > from && row[0] < to);
  const before = scaling.rows.filter((row) => row[0] <= from).pop();
  const last = inside[inside.length - 1] ?? before;
  const most = (name) => [before, ...inside].reduce((top, row) => (value(row, name) === null ? top : Math.max(top ?? 0, value(row, name))), null);
  return {ready: value(last, 'ready'), desired: value(last, 'desired'), stable: value(last, 'stable'), panic: value(last, 'panic'), target: value(last, 'target'),
    starting: most('starting'), draining: most('draining'), queued: most('queued')};
}

/** How many times the capacity begins a panic, as a decision said it; null: none did. */
function panicFactor(scaling) {
  for (const {why} of scaling.decisions) {
    const said = />= ([\d.]+)/.exec(why);
    if (said) return Number(said[1]);
  }
  return null;
}

function endOf(run) {
  const {scaling, seconds} = run;
  const last = seconds[seconds.length - 1];
  const told = scaling ? [...scaling.rows.slice(-1).map((row) => row[0]), ...scaling.decisions.slice(-1).map((decision) => decision.at_s)] : [];
  return Math.max(run.length_s, last ? last.at_s + last.for_s : 0, ...told.map((at) => at * (1 + TAIL_PART) + 1));
}

/** A row for each step of the run: what was sent and came, and what the engine did meanwhile. */
export function rowsOf(run) {
  const times = new Map();
  for (const row of run.seconds) times.set(row.at_s, [...(times.get(row.at_s) ?? []), row]);
  const rows = [...times.values()].map(joined).sort((a, b) => a.at - b.at);
  const step = rows[0]?.step ?? 1;
  const end = Math.max(endOf(run), step);
  for (let at = rows.length ? rows[rows.length - 1].at + step : 0; at < end; at += step) {
    rows.push({at, step, buckets: [], max: null, p50: null, p99: null, in_flight: 0, planned: run.plan.loop === 'open' ? 0 : null, sent: 0, answered: 0, errors: 0, not_sent: 0});
  }
  if (run.scaling) addScaling(run.scaling, rows, step);
  for (const row of rows) {
    row.low = row.buckets.length ? row.buckets[0][0] / 1000 : null;
    row.high = row.max;
  }
  return {rows, step, end};
}

function addScaling(scaling, rows, step) {
  const factor = panicFactor(scaling);
  let first = 0;
  const {rows: all} = scaling;
  for (const row of rows) {
    while (first + 1 < all.length && all[first + 1][0] <= row.at) first += 1;
    let last = first;
    while (last + 1 < all.length && all[last + 1][0] < row.at + step) last += 1;
    Object.assign(row, scalingIn({columns: scaling.columns, rows: all.slice(first, last + 1)}, row.at, row.at + step));
    row.capacity = row.target === null || row.ready === null ? null : row.target * Math.max(row.ready, 1);
    row.threshold = factor && row.capacity !== null ? row.capacity * factor : null;
  }
}

/** Ticks of a scale of latency that reaches from the least to the most of the rows. */
export function ticksOf(rows) {
  const low = Math.min(...rows.map((row) => row.low ?? Infinity));
  const high = Math.max(...rows.map((row) => row.high ?? 0));
  const parts = high / low < 1000 ? [1, 2, 5] : [1, 10];
  return Array.from({length: 10}, (_, power) => parts.map((part) => part * 10 ** (power - 3))).flat().map((tick) => Number(tick.toPrecision(1)));
}

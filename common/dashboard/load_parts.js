// Parts of the page of `sluice load --html` around its charts: verdict, assertions, figures, tables.

import {actualWords, failureWords, ms, planWords, rateWords} from './load_text.js';
import {clean, count, duration, el, figure, minutes, whole} from './text.js';

const PHASES = ['queue', 'decide', 'create', 'start', 'ready', 'first_byte'];
const COLD_STARTS_SHOWN = 5;
const DECISIONS_SHOWN = 200;
const NEAR_SECONDS = 2;
const ERRORS_NAMED = 0.01;   // of the requests
const KINDS = {timeout: 'timed out', connect_refused: 'connection refused', connect_timeout: 'no connection in time', no_local_port: 'no local port', tls: 'TLS failed',
  reset: 'cut in the middle', invalid: 'not an HTTP answer', h2: 'HTTP/2 failed', grpc: 'gRPC failed', ws: 'WebSocket failed', not_sent: 'never sent', status_5xx: 'status 500 and above'};
const ALWAYS = ['timeout', 'connect_refused', 'reset', 'not_sent'];
const CAUSES = {own_core: 'the generator used up its core', no_connection: 'all connections that it may have were busy', no_local_port: 'the machine had no local port',
  server: 'the server accepts connections or answers too slowly'};

function day(time) {
  return clean(time).replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}

function card(title, note, ...body) {
  return el('section.card', {'aria-label': title}, el('div.card-head', {}, el('h2', {}, title), note ? el('span.note', {}, note) : null), el('div.card-body', {}, body));
}

// `rows` of texts and nodes; the first of each is its name. Columns from `numbers` on are numbers.
function table(name, heads, rows, numbers = 1) {
  const cell = (tag, content, i, attributes = {}) => el(i >= numbers ? `${tag}.number` : tag, attributes, content ?? '\u2013');
  return el('div.scroll-x', {tabindex: '0', role: 'region', 'aria-label': `${name}, table`}, el('table.rows', {}, el('caption.unseen', {}, name),
    el('thead', {}, el('tr', {}, heads.map((head, i) => cell('th', head, i, {scope: 'col'})))),
    el('tbody', {}, rows.map((row) => el('tr', {}, row.map((content, i) => (i ? cell('td', content, i) : el('th', {scope: 'row'}, content))))))));
}

/** Name, plan in words, when, what it is compared with. */
export function heading(run, before) {
  const {targets} = run;
  const urls = targets.length ? targets.map(({url}) => url) : [run.plan.url];
  const more = urls.length > 3 ? ` and ${urls.length - 3} more` : '';
  return el('header.report-head', {}, el('p.made', {}, 'sluice load'), el('h1', {}, run.name || 'Load'),
    el('p', {}, [...planWords(run), `${urls.slice(0, 3).join(' \u00b7 ')}${more}`].join(' \u2014 ')),
    el('p.note', {}, `${day(run.started_at)}, ${duration(run.length_s)}${before ? ` \u00b7 compared with ${before.name || 'the run'} of ${day(before.started_at)}` : ''}`));
}

function gatesOf(run) {
  return [...run.assert.map((gate) => ({...gate, state: !gate.known ? 'unknown' : gate.holds ? 'holds' : 'fails', shown: gate.expression})),
    ...run.fail_if.map((gate) => ({...gate, state: !gate.known ? 'unknown' : gate.failed ? 'fails' : 'holds', shown: `fail if ${gate.expression}`}))];
}

// What the engine did when latency was highest: the place to look first.
function slowest(run, rows) {
  const row = rows.reduce((top, one) => ((one.max ?? 0) > (top?.max ?? 0) ? one : top), null);
  if (!row) return '';
  const near = (at) => Math.abs(at - row.at) <= NEAR_SECONDS + row.step;
  const start = run.scaling?.cold_starts.find((one) => near(one.at_s));
  const held = row.queued ? `, while ${count(row.queued, 'request')} waited for a replica` : '';
  const panic = run.scaling?.panics.some(({from_s: from, to_s: to}) => from <= row.at + row.step && to >= row.at) ? ', in panic' : '';
  const gap = run.marks.some((mark) => mark.kind === 'generator_gap' && near(mark.at_s)) ? '; this machine did not run the generator then' : '';
  return `The slowest answer was that of a request at ${minutes(row.at)}: ${ms(row.max)}${start ? `, beside a cold start of ${ms(start.total_ms)}` : held || panic}${gap}.`;
}

function lateWords(run) {
  const {generator, requests} = run;
  return `The generator was late (lag p99 ${ms(generator.lag_ms?.p99)}${requests.not_sent ? `, ${whole(requests.not_sent)} never sent` : ''}): ${CAUSES[generator.cause] ?? 'of its own'}. The latency includes its own delay.`;
}

function judge(run, rows) {
  const gates = gatesOf(run);
  const fails = gates.filter(({state}) => state === 'fails');
  const unknown = gates.filter(({state}) => state === 'unknown');
  const errors = run.errors.rate > ERRORS_NAMED ? `${Number((100 * run.errors.rate).toPrecision(2))} % of the requests failed${run.errors.first ? ` (the first: ${run.errors.first})` : ''}. ` : '';
  const late = run.generator.late ? lateWords(run) : '';
  if (fails.length) return {kind: 'fails', title: `Failed: ${fails.length} of ${count(gates.length, 'assertion')}`, why: `${errors}${failureWords(fails[0])}. ${late || slowest(run, rows)}`, exit: 4};
  if (run.compare?.verdict === 'worse') return {kind: 'fails', title: 'Worse than the baseline', why: `${errors}${run.compare.comparisons[0].sentence}.`, exit: 4};
  if (unknown.length) return {kind: 'fails', title: `Not judged: ${unknown.length} of ${count(gates.length, 'assertion')}`, why: `${errors}The run has no figure for ${unknown[0].expression}.`, exit: 1};
  if (!run.requests.answered) return {kind: 'fails', title: 'No answer', why: errors || 'Nothing was answered.', exit: 69};
  const why = `${errors}${late || slowest(run, rows)}`;
  if (errors || late) return {kind: 'doubt', title: gates.length ? `Passed, with ${errors ? 'errors' : 'figures in doubt'}` : errors ? 'Errors' : 'Figures in doubt', why};
  return {kind: gates.length ? 'holds' : 'plain', title: gates.length ? `Passed: ${gates.length === 1 ? 'the assertion holds' : `all ${gates.length} assertions`}` : 'Measured; nothing was asserted', why};
}

/** The verdict with its reason. */
export function verdict(run, rows) {
  const {kind, title, why, exit} = judge(run, rows);
  const sign = {fails: '\u2715', holds: '\u2713', doubt: '\u25b2', plain: '\u25cf'}[kind];
  return el('section.verdict', {'data-kind': kind, 'aria-label': 'Verdict'}, el('span.sign', {'aria-hidden': 'true'}, sign),
    el('div', {}, el('h2', {}, title), el('p', {}, why)), exit ? el('span.pill', {}, `exit status ${exit}`) : null);
}

/** The assertions of a run, those that do not hold first; null: it has none. */
export function gates(run, before) {
  const order = {fails: 0, unknown: 1, holds: 2};
  const rows = gatesOf(run).sort((a, b) => order[a.state] - order[b.state]);
  if (!rows.length) return null;
  const words = {fails: '\u2715 fails', unknown: '? not known', holds: '\u2713 holds'};
  const past = new Map(before ? gatesOf(before).map((gate) => [gate.shown, gate]) : []);
  const pill = (state) => el('span.pill', {'data-gate': state}, words[state]);
  return card('Assertions', '', table('Assertions', ['assertion', 'this run', ...(before ? ['before'] : []), 'verdict'], rows.map((gate) => [el('code', {}, gate.shown), el('b', {}, actualWords(gate)),
    ...(before ? [past.has(gate.shown) ? actualWords(past.get(gate.shown)) : null] : []), pill(gate.state)])));
}

function replicaPath(scaling) {
  const ready = scaling.replicas.map((point) => point.ready);
  const [first, last] = [ready[0] ?? 0, ready[ready.length - 1] ?? 0];
  return [first, scaling.replicas_max, last].filter((value, i, all) => value !== all[i - 1]).join(' \u2192 ');
}

function scalingFigures({scaling}, old) {
  const panic = scaling.panics.reduce((sum, one) => sum + one.to_s - one.from_s, 0);
  return [['cold starts', whole(scaling.cold_start_count), scaling.cold_start_ms ? `p50 ${ms(scaling.cold_start_ms.p50)}, max ${ms(scaling.cold_start_ms.max)}` : ''],
    ['replicas', replicaPath(scaling), old?.scaling ? `before ${replicaPath(old.scaling)}` : `${duration(scaling.replicas_seconds)} of replicas`],
    ['panic', `${scaling.panics.length} \u00d7`, panic ? `for ${duration(panic)}` : ''],
    ['to zero', scaling.time_to_zero_s === null ? '\u2013' : duration(scaling.time_to_zero_s), scaling.time_to_zero_s === null ? 'not seen' : 'after the last request']];
}

/** The key figures. */
export function figures(run, before) {
  const {requests, generator, errors, latency_ms: latency} = run;
  const past = (name) => (before ? `before ${ms(before.latency_ms?.[name])}` : '');
  const states = Object.keys(run.status);
  const items = [['sent', whole(requests.sent), requests.not_sent ? `of ${whole(requests.sent + requests.not_sent)} planned` : `${figure(generator.rate_achieved)}/s`],
    ['answered', whole(requests.answered), states.length === 1 ? `${states[0]}: all` : `${states.length} statuses`],
    ['errors', whole(errors.total), `refused ${whole(requests.refused)} \u00b7 timeouts ${whole(errors.timeout)}`, errors.total ? 'error' : ''],
    ['generator', run.plan.loop === 'closed' ? 'closed' : generator.late ? 'LATE' : 'on time', `lag p99 ${ms(generator.lag_ms?.p99)}`, generator.late ? 'panic' : ''],
    ...['p50', 'p99', 'p99_9', 'max'].map((name) => [name.replace('_', '.'), ms(latency?.[name]), past(name)]),
    ...(run.scaling ? scalingFigures(run, before) : [['from sending', ms(run.service_ms?.p99), 'p99'], ['connecting', ms(run.connect_ms?.p99), 'p99'], ['connections', whole(generator.connections_used), `${whole(generator.connection_waits)} waits`]])];
  return card('Figures', run.plan.loop === 'closed' ? 'latency from the sending' : 'latency from the planned time',
    el('dl.key-figures', {}, items.map(([name, value, note, kind]) => el('div', kind ? {'data-kind': kind} : {}, el('dt', {}, name), el('dd', {}, value), el('dd.note', {}, note)))));
}

function changeWords(value, figureName) {
  if (value === null) return null;
  const points = figureName === 'error_rate' ? 'points' : '%';
  return `${value > 0 ? '+' : ''}${(100 * value).toFixed(1)} ${points}`;
}

/** Figures beside those of the baseline, with what chance would do; null: the run has none. */
export function compared(run) {
  const comparison = run.compare?.comparisons?.[0];
  if (!comparison) return null;
  const value = (name, actual) => actualWords({expression: name, known: actual !== null, actual});
  const rows = comparison.figures.map(({figure: name, before, now, change, interval, verdict: found}) => [name, el('b', {}, value(name, now)), value(name, before), changeWords(change, name),
    interval ? `${changeWords(interval[0], name)} to ${changeWords(interval[1], name)}` : null, el('span.pill', {'data-gate': {worse: 'fails', better: 'holds'}[found] ?? found}, found)]);
  return card('Compared with the baseline', run.compare.baseline.file, el('p', {}, comparison.sentence), comparison.warnings.map((text) => el('p.note', {}, text)),
    table('Comparison', ['figure', 'this run', 'before', 'change', '95 % interval', 'verdict'], rows));
}

/** Percentiles as a table. */
export function percentiles(run, before) {
  const names = ['mean', 'p50', 'p90', 'p99', 'p99_9', 'p99_99', 'max'];
  if (!run.latency_ms) return null;
  return table('Percentiles of latency', ['percentile', 'latency', 'from sending', ...(before ? ['before'] : [])], names.map((name) => [name.replace('_', '.'), el('b', {}, ms(run.latency_ms[name])), ms(run.service_ms?.[name]),
    ...(before ? [ms(before.latency_ms?.[name])] : [])]));
}

function barOf(start, longest) {
  const bar = el('span.phases', {'aria-hidden': 'true'}, PHASES.filter((name) => start.phases_ms[name]).map((name) => {
    const part = el('span', {'data-phase': name});
    part.style.flexGrow = start.phases_ms[name];
    return part;
  }));
  bar.style.width = `${(100 * start.total_ms) / longest}%`;
  return bar;
}

function meanPhase(starts, name) {
  const with_ = starts.filter((start) => start.phases_ms[name] !== undefined);
  return with_.length ? with_.reduce((sum, start) => sum + start.phases_ms[name], 0) / with_.length : null;
}

/** Where the time of cold starts went. */
export function coldStarts(run, before) {
  const starts = run.scaling?.cold_starts ?? [];
  if (!starts.length) return null;
  const slow = [...starts].sort((a, b) => b.total_ms - a.total_ms).slice(0, COLD_STARTS_SHOWN);
  const old = before?.scaling?.cold_starts ?? [];
  const part = (name) => el('span.legend', {}, el('span.swatch', {'data-phase': name, 'aria-hidden': 'true'}), name.replace('_', ' '));
  const several = starts.length > 1 ? ', on average' : '';
  return card('Cold starts', `${whole(run.scaling.cold_start_count)}${starts.length > COLD_STARTS_SHOWN ? `, the slowest ${COLD_STARTS_SHOWN}` : ''}, from zero to the first byte`,
    el('ol.starts', {}, slow.map((start) => el('li', {}, el('span.note', {}, `at ${minutes(start.at_s)}`), barOf(start, slow[0].total_ms), el('span.number', {}, ms(start.total_ms))))),
    table('Phases of cold starts', [`phase${several}`, 'this run', ...(old.length ? ['before'] : [])], PHASES.map((name) => [part(name), ms(meanPhase(starts, name)), ...(old.length ? [ms(meanPhase(old, name))] : [])])));
}

/** What came of the requests. */
export function outcomes(run, before) {
  const past = (value) => (before ? [whole(value ?? 0)] : []);
  const states = Object.entries(run.status).map(([status, number]) => [clean(status), el('b', {}, whole(number)), ...past(before?.status[status])]);
  const kinds = Object.keys(KINDS).filter((kind) => run.errors[kind] || before?.errors[kind] || ALWAYS.includes(kind)).map((kind) => [KINDS[kind], whole(run.errors[kind]), ...past(before?.errors[kind])]);
  const samples = run.errors.samples ?? [];
  return card('Answers and errors', '', table('Answers and errors', ['what', 'this run', ...(before ? ['before'] : [])], [...states, ['refused by Sluice', whole(run.requests.refused), ...past(before?.requests.refused)], ...kinds]),
    samples.length ? el('ul.samples', {}, samples.map((sample) => el('li', {}, el('span.note', {}, `${minutes(sample.at_s)} `), sample.text))) : null);
}

function within(rows, phase) {
  return rows.filter((row) => row.at + row.step > phase.at_s && row.at < phase.at_s + phase.for_s);
}

function phaseScaling(run, rows, phase) {
  const inside = within(rows, phase);
  const ready = inside.map((row) => row.ready).filter((value) => value !== null && value !== undefined);
  const held = Math.max(0, ...inside.map((row) => row.queued ?? 0));
  const panic = run.scaling.panics.reduce((sum, {from_s: from, to_s: to}) => sum + Math.max(0, Math.min(to, phase.at_s + phase.for_s) - Math.max(from, phase.at_s)), 0);
  return [ready.length ? `${ready[0]} \u2192 ${ready[ready.length - 1]}` : null, whole(held), panic ? duration(panic) : null];
}

/** A row for each phase. */
export function phases(run, before, rows) {
  if (!run.phases.length) return null;
  const old = new Map((before?.phases ?? []).map((phase) => [phase.name, phase]));
  const heads = ['phase', 'rate', 'sent', 'errors', 'p50', 'p99', ...(before ? ['p99, before'] : []), 'max', ...(run.scaling ? ['replicas', 'held, most', 'panic'] : [])];
  return card('Phases', '', table('Phases', heads, run.phases.map((phase) => [el('b', {}, phase.name), `${rateWords(phase)}${phase.late ? ' LATE' : ''}`, whole(phase.requests.sent), whole(phase.errors.total),
    ms(phase.latency_ms?.p50), ms(phase.latency_ms?.p99), ...(before ? [ms(old.get(phase.name)?.latency_ms?.p99)] : []), ms(phase.latency_ms?.max),
    ...(run.scaling ? phaseScaling(run, rows, phase) : [])]), 2));
}

/** A row for each target. */
export function targets(run, before) {
  if (!run.targets.length) return null;
  const old = new Map((before?.targets ?? []).map((target) => [target.name, target]));
  const heads = ['target', 'request', 'sent', 'answered', 'refused', 'errors', 'p50', 'p90', 'p99', ...(before ? ['p99, before'] : []), 'p99.9', 'max'];
  return card('Targets', '', table('Targets', heads, run.targets.map((target) => [el('b', {}, target.name), el('code', {}, `${target.method} ${target.url}`), whole(target.requests.sent), whole(target.requests.answered),
    whole(target.requests.refused), whole(target.errors.total), ms(target.latency_ms?.p50), ms(target.latency_ms?.p90), ms(target.latency_ms?.p99), ...(before ? [ms(old.get(target.name)?.latency_ms?.p99)] : []),
    ms(target.latency_ms?.p99_9), ms(target.latency_ms?.max)]), 2));
}

/** What one decision of the engine says. */
export function decisionWords({at_s: at, service, from, to, mode, why}) {
  return `${minutes(at)} \u00b7 ${service}: ${whole(from)} \u2192 ${whole(to)}${mode === 'panic' ? ', panic' : ''}. ${why}`;
}

/** All decisions of the engine, to open. */
export function decisions(run) {
  const all = run.scaling?.decisions ?? [];
  if (!all.length) return null;
  const shown = all.slice(0, DECISIONS_SHOWN);
  return el('details.card.more', {}, el('summary', {}, `Decisions of the engine: ${whole(all.length)}${shown.length < all.length ? `, the first ${DECISIONS_SHOWN}` : ''}`),
    table('Decisions of the engine', ['at', 'service', 'wanted', 'mode', 'why'], shown.map((one) => [minutes(one.at_s), one.service, `${whole(one.from)} \u2192 ${whole(one.to)}`, one.mode, one.why]), 9));
}

function markWords(marks) {
  const gaps = marks.filter((mark) => mark.kind === 'generator_gap');
  const clocks = marks.filter((mark) => mark.kind === 'clock_step');
  const longest = gaps.reduce((top, mark) => (mark.ms > (top?.ms ?? 0) ? mark : top), null);
  return [gaps.length ? `the machine did not run it ${count(gaps.length, 'time')}, for up to ${ms(longest.ms)} (at ${minutes(longest.at_s)})` : 'no gap', clocks.length ? `${count(clocks.length, 'clock step')}` : 'no clock step'].join(' \u00b7 ');
}

/** The generator's judgement of itself, the machine, the command. */
export function circumstances(run) {
  const {generator, environment} = run;
  const lag = generator.lag_ms ? `lag p50 ${ms(generator.lag_ms.p50)}, p99 ${ms(generator.lag_ms.p99)}, max ${ms(generator.lag_ms.max)} \u00b7 ` : '';
  const state = run.plan.loop === 'closed' ? 'closed loop: a slow server gets fewer requests, and those waits are not in the latency' : generator.late ? `LATE: ${CAUSES[generator.cause] ?? ''}` : 'on time';
  return el('footer.card.circumstances', {}, el('p', {}, el('b', {}, 'Generator '), `${state} \u00b7 ${lag}${Math.round(100 * generator.core_share_max)} % of a core at most \u00b7 ${count(generator.connections_used, 'connection')}, ${count(generator.connection_waits, 'wait')} \u00b7 ${markWords(run.marks)}${generator.interrupted ? ' \u00b7 ended by a signal' : ''}`),
    el('p', {}, el('b', {}, 'Machine '), `${environment.cpus} \u00d7 ${environment.cpu}, Linux ${environment.kernel}, ${environment.host}`), el('p', {}, el('code', {}, environment.command)));
}

/** The seconds of a run as CSV. */
export function csvOf(run) {
  const names = ['at_s', 'for_s', 'target', 'phase', 'rate_planned', 'sent', 'answered', 'errors', 'not_sent', 'in_flight', 'p50_ms', 'p99_ms', 'max_ms'];
  const field = (value) => (typeof value === 'string' && /[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : String(value ?? ''));
  return `${[names, ...run.seconds.map((row) => names.map((name) => row[name]))].map((row) => row.map(field).join(',')).join('\n')}\n`;
}

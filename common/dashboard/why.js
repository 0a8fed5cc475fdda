// In words: what a service does and why. Pure: from what the API answers to texts.

import {bytes, clock, count, duration, figure, milliseconds, seconds, tenths, whole, wordOf} from './text.js';

const HOLDS = {
  scale_down_delay: 'a larger number of the recent past is kept for the scale-down delay',
  panic_hold: 'in panic the number does not fall',
  initial_scale: 'the initial scale is kept until it was reached',
  scale_to_zero_off: 'scaling to zero is switched off',
  stable_window: 'the last stable window had requests',
  grace: 'the grace period before zero has not passed',
  retention: 'the last replica is kept for the retention period',
  no_data: 'no reading came: the number stays',
};
const CAUSE_LINES = 3;

/** What a number of `metric` counts. */
function unitOf(decision) {
  return decision?.metric === 'rps' ? 'requests per second' : 'requests ran or waited at once';
}

/** The second line of a row. */
export function noteOf(row) {
  if (['failing', 'memory'].includes(row.trouble) || row.state === 'failing') return row.why || 'does not start';
  if (row.state === 'starting') return 'starting';
  if (row.state === 'asleep') {
    const since = seconds(row.since);
    return Number.isFinite(since) ? `asleep for ${duration(Math.max(0, Date.now() / 1000 - since))}` : 'asleep';
  }
  return `${figure(row.rps)} rps \u00b7 p99 ${milliseconds(row.p99_ms)}`;
}

function panicSince(decision) {
  const began = seconds(decision.time) - (decision.inputs?.mode_for_s ?? NaN);
  return Number.isFinite(began) ? began : null;
}

/** Whether it is a decision: before the first one a service has only what it began with. */
export function decided(decision) {
  return decision.valid !== false || decision.desired >= 0;
}

/** The sentences at the top of a service: [{text, kind}], in order; `kind` is strong, panic, error or plain. */
export function sentences(status, decision) {
  const plain = (text) => ({text, kind: 'plain'});
  const strong = (text) => ({text, kind: 'strong'});
  if (status.state === 'failing') {
    return [{text: 'No replica starts. ', kind: 'error'}, plain(`${ended(status.why || 'The cause is not known')} `),
      plain(`${count(status.desired ?? 0, 'replica')} ${status.desired === 1 ? 'is' : 'are'} wanted; requests wait or get 503 until one is ready.`)];
  }
  if (status.state === 'asleep') {
    const cold = status.last_cold_start_ms;
    return [strong('Asleep: no replica runs. '), plain('The next request wakes it'),
      plain(cold === null || cold === undefined ? '.' : `; the last start took ${milliseconds(cold)} until the first byte.`)];
  }
  const wanted = status.desired ?? 0;
  const parts = [strong(`${count(wanted, 'replica')} ${wanted === 1 ? 'is' : 'are'} wanted and ${status.ready === wanted ? (wanted === 1 ? 'it is' : `${whole(status.ready)} are`)
    : `${whole(status.ready)} ${status.ready === 1 ? 'is' : 'are'}`} ready. `)];
  if (status.granted < wanted) parts.push({text: `${ended(`${status.granted ? `only ${whole(status.granted)}` : 'none'} may run: ${status.why}`)} `, kind: 'error'});
  if (!decision || !decided(decision)) return parts;
  const inputs = decision.inputs ?? {};
  const panics = decision.mode === 'panic';
  const window = panics ? inputs.panic_window_s : inputs.stable_window_s;
  parts.push(plain(`${tenths(panics ? status.panic : status.stable)} ${unitOf(decision)} over the last ${figure(window ?? (panics ? 6 : 60))} s, `
    + `and a replica is meant to carry ${tenths(decision.target)}. `));
  if (panics) {
    const began = panicSince(decision);
    parts.push({text: 'Panic', kind: 'panic'}, plain(`${began === null ? ' is on' : ` began at ${clock(began)}`}, when at least ${(inputs.panic_threshold ?? 2) === 2 ? 'twice' : `${figure(inputs.panic_threshold)} times`} as many `
      + `were needed as were ready; it lets the number grow and not fall until ${figure(inputs.stable_window_s ?? 60)} s pass without another breach.`));
  } else if (HOLDS[decision.bound_by]) {
    parts.push(plain(ended(HOLDS[decision.bound_by])));
  }
  return parts;
}

// As a sentence.
function ended(text = '') {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`;
}

/** The rows of `Why N`: [{name, text, number, last}] where `last` is the rule that decided. */
export function reasons(decision) {
  const inputs = decision.inputs ?? {};
  const per = (value) => `${tenths(value)} / ${tenths(decision.target)} per replica`;
  const rows = [
    {name: `over ${figure(inputs.stable_window_s ?? 60)} s`, text: per(decision.stable), number: decision.wanted_stable, last: decision.mode !== 'panic'},
    {name: `over ${figure(inputs.panic_window_s ?? 6)} s`, text: per(decision.panic), number: decision.wanted_panic, last: decision.mode === 'panic'},
  ];
  const ratio = `${whole(decision.wanted_panic)} / ${whole(decision.ready)} ready`;
  const threshold = figure(inputs.panic_threshold ?? 2);
  if (decision.mode === 'panic') {
    const began = panicSince(decision);
    rows.push({name: 'panic', text: `${began === null ? '' : `since ${clock(began)}: `}${ratio} ${decision.wanted_panic >= (inputs.panic_threshold ?? 2) * decision.ready ? '\u2265' : '<'} ${threshold}; holds`, number: decision.desired});
  } else {
    rows.push({name: 'panic', text: `${ratio} < ${threshold}: no`, number: null});
  }
  rows.push({name: 'growth', text: growth(decision, inputs), number: decision.desired});
  rows.push({name: 'bounds', text: inputs.max ? `${whole(inputs.min)} to ${whole(inputs.max)}` : `at least ${whole(inputs.min)}, no upper bound`,
    number: decision.bounded});
  const short = decision.granted < decision.bounded;
  rows.push({name: 'room', text: short ? `for ${whole(decision.granted)} of ${whole(decision.bounded)}` : `${whole(decision.granted)} ${decision.granted === 1 ? 'fits' : 'fit'}`, number: decision.granted,
    last: short});
  const bound = {scale_up_rate: 'growth', scale_down_rate: 'growth', min_scale: 'bounds', max_scale: 'bounds', capacity: 'room', panic_hold: 'panic'}[decision.bound_by];
  if (bound) for (const row of rows) row.last = row.name === bound;
  return rows;
}

function growth(decision, inputs) {
  const rate = decision.bound_by === 'scale_down_rate' ? inputs.max_scale_down_rate : inputs.max_scale_up_rate;
  if (decision.bound_by === 'scale_down_rate') return `at most ${figure(rate)} \u00d7 down at a time`;
  return `at most ${figure(rate ?? 1000)} \u00d7 up at a time`;
}

/** What comes next, and what keeps the service awake: sentences. */
export function outlook(decision) {
  const parts = [`Decided ${clock(seconds(decision.time))}.`];
  const fall = seconds(decision.inputs?.may_fall_at);
  if (Number.isFinite(fall)) parts.push(`May fall after ${clock(fall)}, if no further breach comes.`);
  else if (HOLDS[decision.bound_by]) parts.push(ended(HOLDS[decision.bound_by]));
  return parts;
}

/** What the replicas work on, or the callers of the last minute: [{text, note}]; empty where none is known. */
export function callers(decision) {
  if (!Array.isArray(decision.keeps_awake)) return [];
  return decision.keeps_awake.slice(0, CAUSE_LINES).map(({client, request, count}) => (request === 'in flight' ? {text: client, note: `${figure(count)} in flight`}
    : {text: `${client} ${request}`, note: `${whole(count)} in the last minute`}));
}

/** The largest phase of a cold start in a sentence. */
export function phaseSentence(start) {
  const phases = Object.entries(start.phases_ms ?? {}).sort((a, b) => b[1] - a[1]);
  if (!phases.length) return '';
  const [name, ms] = phases[0];
  const means = {queue: 'waiting for room', decide: 'deciding', create: 'creating the process', start: 'the program itself',
    ready: 'the wait for readiness', first_byte: 'the first answer'}[name] ?? name;
  return `Most of the newest is ${wordOf(name)} (${milliseconds(ms)}): ${means}.`;
}

const CAUSES = {full: 'makes room for another', drain: 'its place is emptied', home: 'to a place that it likes more', hand: 'asked for'};

/** A move between places: {kind, title, text}. */
export function moveText(move) {
  const why = CAUSES[move.cause] ?? move.cause;
  const title = `${move.from} \u2192 ${move.to}`;
  const cut = `${count(move.cut ?? 0, 'request')} cut`;
  if (!move.over) return {kind: move.state === 'stuck' ? 'warning' : 'starting', title, text: `${move.state}: ${whole(move.started)} of ${whole(move.replicas)} started, ${whole(move.drained)} drained, ${cut}; ${why}${move.why ? `: ${move.why}` : ''}`};
  if (!move.done) return {kind: 'warning', title, text: `given up: ${move.why || 'no reason is known'}`};
  return {kind: 'ready', title, text: `${count(move.replicas, 'replica')} in ${duration((move.start_s ?? 0) + (move.drain_s ?? 0))}, ${cut}; ${why}`};
}

/** That replicas move; '' where none does. */
export function movingText(moving) {
  return moving ? `Its replicas move from ${moving.from} to ${moving.to}: ${moving.state}.` : '';
}

/** Why replicas are not where they are liked more. */
export function elsewhereText(elsewhere) {
  return elsewhere ? ended(`in ${elsewhere.place} and not in ${elsewhere.liked}: ${elsewhere.why}`) : '';
}

/** Why a service waits for replicas, and when it is asked again: sentences. */
export function waits(decision) {
  const {at, replica_of: of = []} = decision.asked_again ?? {};
  const when = [at ? `at ${clock(seconds(at))}` : '', of.length ? `when a replica of ${of.join(' or ')} ends` : ''].filter(Boolean);
  return [decision.waits ? ended(decision.waits) : '', when.length ? `Asked again ${when.join(', or ')}.` : ''].filter(Boolean);
}

/** Why memory throttles a replica. */
export function throttleSentence(entry) {
  const since = seconds(entry.since);
  const how = entry.held ? 'is stopped until its next request' : `is held at ${entry.quota ? `${figure(entry.quota)} of a core` : 'a part of a core'}`;
  return `${how}${Number.isFinite(since) ? ` since ${clock(since)}` : ''}${entry.memory_bytes ? ` with ${bytes(entry.memory_bytes)}` : ''}${entry.why ? `: ${entry.why}` : ''}`;
}

/** What happened, of an event: {kind, title, text}; `before` is the number of replicas before a decision. */
export function happened(type, event, before = null) {
  const exited = event.state === 'exited';
  switch (type) {
    case 'decision':
      return {kind: event.mode === 'panic' ? 'panic' : event.granted < event.bounded ? 'memory' : 'decision',
        title: before === null ? count(event.granted, 'replica') : before === event.granted ? `still ${whole(before)}` : `${whole(before)} \u2192 ${whole(event.granted)}`, text: event.why ?? ''};
    case 'cold_start':
      return {kind: 'cold_start', title: `cold start ${milliseconds(event.total_ms)}`, text: event.replica ?? ''};
    case 'replica':
      return {kind: exited ? 'exited' : event.state, title: `${event.id} ${event.state}`,
        text: exited ? [event.why, event.retry_in_ms ? `next try in ${duration(event.retry_in_ms / 1000)}` : ''].filter(Boolean).join('; ') : ''};
    case 'memory':
      return {kind: 'memory', title: 'memory', text: event.id ? `${event.id} ${throttleSentence(event)}` : [`pressure ${event.pressure ?? 'unknown'}`, event.why].filter(Boolean).join(': ')};
    case 'error':
      return {kind: 'failing', title: 'error', text: event.detail ?? event.message ?? event.text ?? event.why ?? ''};
    case 'move':
      return moveText(event);
    case 'place':
      return {kind: event.state === 'ready' ? 'ready' : 'draining', title: `place ${event.name}`, text: [event.state, ...(event.drain?.remaining ?? [])].join('; ')};
    case 'spec':
      return {kind: 'starting', title: 'spec', text: event.why ?? `revision ${event.revision ?? ''}`};
    default:
      return {kind: 'warning', title: type, text: event.detail ?? event.message ?? event.text ?? event.why ?? ''};
  }
}

// Words and numbers of the page of `sluice load --html`.

import {duration, figure, milliseconds, whole} from './text.js';

const SHAPES = {linear: 'ramp', exponential: 'exp', sine: 'sine'};
const SEGMENTS_MAX = 8;
const TIMES = /^(p\d|mean$|max$|service\.|lag\.|cold_start\.p|time_to_zero$)/;
const OPERATORS = {'<': 'less than', '<=': 'at most', '>': 'more than', '>=': 'at least', '==': '', '!=': 'anything but'};

/** Milliseconds with what a chart needs: 0 is a number here. */
export function ms(value) {
  if (value === null || value === undefined) return '\u2013';
  if (value > 0 && value < 1) return `${value.toFixed(2)} ms`;
  return value === 0 ? '0 ms' : milliseconds(value);
}

function segmentWords(segment) {
  const length = duration(segment.for_s);
  if (segment.to === undefined) return segment.rate === 0 ? `quiet ${length}` : `${figure(segment.rate)}/s ${length}`;
  return `${SHAPES[segment.curve] ?? ''} ${figure(segment.rate)} \u2192 ${figure(segment.to)}/s in ${length}`.trim();
}

function replayWords(replay) {
  return `${whole(replay.requests)} recorded requests of ${replay.file}${replay.speed === 1 ? '' : `, speed ${replay.speed}`}`;
}

/** The rate of a phase: `12 → 110/s`. */
export function rateWords(phase) {
  if (phase.replay) return 'recorded';
  return (phase.segments ?? []).slice(0, 3).map((segment) => (segment.to === undefined ? `${figure(segment.rate)}/s` : `${figure(segment.rate)} \u2192 ${figure(segment.to)}/s`)).join(', ');
}

/** What was sent, in words. */
export function planWords({plan, phases}) {
  if (plan.loop === 'closed') {
    const extent = plan.count ? `${whole(plan.count)} requests` : duration(plan.duration_s);
    return [`closed loop, ${whole(plan.connections)} connection${plan.connections === 1 ? '' : 's'}, ${extent}`];
  }
  const parts = phases.length ? phases.flatMap((phase) => (phase.replay ? [replayWords(phase.replay)] : phase.segments.map(segmentWords)))
    : plan.replay ? [replayWords(plan.replay)] : (plan.segments ?? []).map((segment) => segmentWords(plan.duration_s && plan.segments.length === 1 ? {...segment, for_s: plan.duration_s} : segment));
  const shown = parts.slice(0, SEGMENTS_MAX);
  if (parts.length > shown.length) shown.push(`${parts.length - shown.length} more`);
  const draw = plan.replay ? `seed ${plan.seed}` : `${plan.arrivals}, seed ${plan.seed}`;
  return [`open loop, ${shown.join(' \u00b7 ')}`, draw];
}

/** The name of a figure without its target and its phase. */
function metricOf(expression) {
  const [, name] = /^\s*([^\s<>=!]+)/.exec(expression) ?? ['', ''];
  const bare = name.split('@')[0];
  const known = /(?:^|\.)((?:service|lag|cold_start|queue|replicas|status)\.[\w.]+|p\d+(?:\.\d+)?|[a-z_0-9]+)$/.exec(bare);
  return known ? known[1] : bare;
}

/** The value of a condition as it is read: `actual` is in seconds, requests or a fraction. */
export function actualWords({expression, known, actual}) {
  if (!known) return 'not known';
  const metric = metricOf(expression);
  if (metric === 'generator') return actual === 0 ? 'on time' : 'late';
  if (actual === null) return 'not reached';
  if (TIMES.test(metric)) return actual >= 10 ? duration(actual) : ms(actual * 1000);
  if (metric === 'error_rate') return `${Number((actual * 100).toPrecision(3))} %`;
  return metric === 'rate' ? `${figure(actual)}/s` : figure(actual);
}

/** Why a condition fails, as a sentence. */
export function failureWords(gate) {
  const [, name, operator, value] = /^\s*(\S+?)\s*(<=|>=|==|!=|<|>)\s*(.+)$/.exec(gate.expression) ?? ['', gate.expression, '', ''];
  const said = `${name} is ${actualWords(gate)}`;
  if (!operator) return said;
  const words = `${OPERATORS[operator]} ${value}`.trim();
  return 'failed' in gate ? `${said}; the run fails at ${words}` : `${said}; ${words} is asserted`;
}

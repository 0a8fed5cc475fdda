// Tiles and cards: the six at the top, and those beside the charts of a service.

import {spark} from './chart.js';
import {bytes, clock, count, duration, el, figure, fill, milliseconds, minutes, ofBytes, seconds, setParts, setText, shapeOf, timeOf, whole, wordOf} from './text.js';
import {callers, decided, happened, outlook, phaseSentence, reasons, throttleSentence, waits} from './why.js';

const PHASES = ['queue', 'decide', 'create', 'start', 'ready', 'first_byte'];
const STARTS_SHOWN = 5;
const EVENTS_SHOWN = 60;
const REPLICAS_SHOWN = 50;

export function card(title, note = '') {
  const body = el('div.card-body');
  const side = el('span.note', {}, note);
  const heading = el('h2', {}, title);
  return {node: el('section.card', {'aria-label': title}, el('header.card-head', {}, heading, side), body), body, side, heading};
}

/** Why N, and since when; `onstep(-1 | 1)` goes to the decision before or after. */
export class WhyCard {
  constructor(onstep) {
    const button = (text, label, way) => el('button.step', {type: 'button', 'aria-label': label, title: label, onclick: () => onstep(way)}, text);
    Object.assign(this, card('Why'));
    fill(this.side, button('\u2190', 'The decision before', -1), button('\u2192', 'The decision after', 1), ' decisions');
  }

  /** `told`: a reason that stands elsewhere in the page. */
  show(decision, past, told) {
    if (!decision || !decided(decision)) {
      setText(this.heading, 'Why');
      fill(this.body, el('p.note', {}, past ? 'Nothing is kept of that time.' : `No decision yet${decision?.why ? `: ${decision.why}` : '.'}`));
      return;
    }
    setText(this.heading, `Why ${whole(decision.granted)} ${past ? `at ${clock(seconds(decision.time))}` : 'now'}`);
    const rows = reasons(decision).map((row) => el('tr', {'data-last': row.last, 'data-panic': row.last && decision.mode === 'panic'},
      el('th', {scope: 'row'}, row.name), el('td', {}, row.text), el('td.number', {}, whole(row.number))));
    const names = callers(decision);
    const awake = names.flatMap((entry, i) => [i ? ', ' : ' Kept awake by ', el('code', {}, entry.text), ` (${entry.note})`]);
    const formula = decision.why && decision.why !== told ? el('p.formula', {}, el('code', {}, decision.why)) : null;
    const waiting = waits(decision);
    fill(this.body, el('table.reasons', {}, el('tbody', {}, rows)), formula, waiting.length ? el('p.waits', {}, shapeOf('memory', true), ` ${waiting.join(' ')}`) : null,
      el('p', {}, outlook(decision).join(' '), awake, names.length ? '.' : ''));
  }
}

/** The phases of the last cold starts. */
export class StartsCard {
  constructor() {
    Object.assign(this, card('Cold starts'));
  }

  show(starts, more) {
    const today = starts.length;
    const sorted = starts.map((start) => start.total_ms).sort((a, b) => a - b);
    setText(this.side, today ? `${more ? 'more than ' : ''}${whole(today)} in 24 h \u00b7 median ${milliseconds(sorted[Math.floor(today / 2)])}` : '');
    if (!today) {
      fill(this.body, el('p.note', {}, 'None in 24 h.'));
      return;
    }
    const shown = starts.slice(0, STARTS_SHOWN);
    const most = Math.max(...shown.map((start) => start.total_ms));
    const rows = shown.map((start) => {
      const took = PHASES.filter((name) => start.phases_ms?.[name]).map((name) => [name, start.phases_ms[name]]);
      const words = took.map(([name, ms]) => `${wordOf(name)} ${milliseconds(ms)}`).join(', ');
      const bar = el('span.phases', {'aria-hidden': 'true', title: words}, took.map(([name, ms]) => {
        const part = el('span', {'data-phase': name});
        part.style.width = `${(100 * ms) / most}%`;
        return part;
      }));
      return el('li', {}, timeOf(seconds(start.time)), bar, el('span.number', {}, milliseconds(start.total_ms)), el('span.unseen', {}, words));
    });
    fill(this.body, el('ol.starts', {}, rows),
      el('p.legends', {}, PHASES.map((name) => el('span.legend', {}, el('span.swatch', {'data-phase': name, 'aria-hidden': 'true'}), wordOf(name)))),
      el('p.note', {}, phaseSentence(shown[0])));
  }
}

/** The replicas, with what each has in flight and in memory. */
export class ReplicasCard {
  constructor() {
    Object.assign(this, card('Replicas'));
  }

  /** `replicas`: [{id, state, in_flight, memory_bytes, throttled, held}] of `status`; `throttled`: entries of the memory of the machine. */
  show(replicas, status, throttled) {
    const key = JSON.stringify([replicas, status.max, throttled]);
    if (key === this.key) return;
    this.key = key;
    const shown = replicas.slice(0, REPLICAS_SHOWN);
    const bound = status.max ? ` of at most ${whole(status.max)}` : '';
    setText(this.side, replicas.length ? `${whole(replicas.length)}${bound}${replicas.length > shown.length ? `, ${REPLICAS_SHOWN} shown` : ''} \u00b7 in flight, memory` : '');
    const most = Math.max(1, ...shown.map((replica) => replica.in_flight ?? 0));
    const words = throttled.filter((entry) => replicas.some((replica) => replica.id === entry.id));
    fill(this.body, shown.length ? el('ul.replicas', {}, shown.map((replica) => replicaRow(replica, `${status.name}-`, most))) : el('p.note', {}, 'None runs.'),
      words.map((entry) => el('p.note', {}, shapeOf('memory', true), ` ${entry.id} ${throttleSentence(entry)}`)));
  }
}

function replicaRow(replica, prefix, most) {
  const slowed = replica.throttled || replica.held;
  const bar = el('span.fill');
  bar.style.width = `${Math.round((100 * (replica.in_flight ?? 0)) / most)}%`;
  const word = replica.held ? 'held' : replica.throttled ? 'throttled' : wordOf(replica.state);
  return el('li', {}, shapeOf(slowed ? 'memory' : replica.state), el('span.unseen', {}, word), el('span.id', {title: replica.id}, replica.id.startsWith(prefix) ? replica.id.slice(prefix.length) : replica.id, replica.place ? el('span.note', {}, ` ${replica.place}`) : null),
    el('span.bar', {'aria-hidden': 'true'}, bar), el('span.number', {}, whole(replica.in_flight)), el('span.unseen', {}, 'in flight'), el('span.number', {'data-short': slowed}, bytes(replica.memory_bytes)));
}

/** The newest events; a decision can be chosen: `onpick(time)`. */
export class EventsCard {
  constructor(onpick) {
    Object.assign(this, card('What happened', 'decisions, cold starts, memory, warnings'));
    this.onpick = onpick;
    this.list = el('ol.events');
    this.body.append(this.list);
    this.chosen = null;
  }

  /** `events`: [{type, time, event, before}], the newest first; `changes`: how often one of them has changed. */
  show(events, chosen, changes) {
    const shown = events.slice(0, EVENTS_SHOWN);
    const key = `${shown[0]?.key} ${shown.length} ${chosen} ${changes}`;
    if (key === this.key) return;
    this.key = key;
    if (!shown.length) {
      fill(this.list, el('li.note', {}, 'Nothing in this range.'));
      return;
    }
    fill(this.list, shown.map(({type, time, event, before}) => {
      const {kind, title, text} = happened(type, event, before);
      const words = [shapeOf(kind, true), el('b', {}, title), el('span.text', {}, text)];
      const time_ = timeOf(time);
      if (type !== 'decision') return el('li', {}, time_, el('span.pick', {}, words));
      return el('li', {'data-chosen': chosen === time}, time_, el('button.pick', {type: 'button', 'aria-pressed': String(chosen === time), onclick: () => this.onpick(time)}, words));
    }));
  }
}

/** Capacity, what uses it, and where starts stop: a bar with words. */
export function memoryBar(memory) {
  const capacity = memory.capacity_bytes || 1;
  const replicas = memory.replicas_bytes ?? 0;
  const others = Math.max(0, (memory.used_bytes ?? 0) - replicas);
  const stop = capacity - (memory.reserve_bytes ?? 0);
  const part = (name, size) => {
    const node = el('span', {'data-part': name});
    node.style.width = `${Math.min(100, (100 * size) / capacity)}%`;
    return node;
  };
  const mark = el('span.mark');
  mark.style.left = `${Math.min(100, (100 * stop) / capacity)}%`;
  const words = [['replicas', `replicas ${bytes(replicas)}`], ['others', `others ${bytes(others)}`]];
  return el('div.memory-bar', {}, el('div.bar.large', {'aria-hidden': 'true'}, part('replicas', replicas), part('others', others), mark),
    el('p.legends', {}, words.map(([name, text]) => el('span.legend', {}, el('span.swatch', {'data-part': name, 'aria-hidden': 'true'}), text)),
      el('span.legend', {}, el('span.swatch.stop', {'aria-hidden': 'true'}), `starts stop at ${bytes(stop)}`)));
}

/** What is known of a service that does not start. */
export function failureCard(status, lines, retry) {
  const parts = card(status.state === 'failing' ? 'Why it does not start' : 'What is amiss');
  const amiss = status.not_ready ?? [];
  const rows = amiss.length ? amiss : [{revision: status.revision, state: 'failing', why: status.why}];
  fill(parts.body, rows.map((row) => el('p', {}, shapeOf('failing', true), ' ', el('b', {}, row.revision ?? ''), ` ${row.why ?? ''}`)),
    retry ? el('p', {}, retry) : null,
    lines === null ? el('p.note', {}, 'Its last lines are for the user of the engine: ', el('code', {}, `sluice logs ${status.name}`)) : null,
    lines?.length ? [el('p.note', {}, count(lines.length, 'last line')), el('pre', {tabindex: '0', 'aria-label': 'Its last lines'}, lines.join('\n'))] : null);
  parts.node.classList.add('failure');
  return parts.node;
}

/** When the next start is tried. */
export function retryText(event, now) {
  if (!event?.retry_in_ms) return '';
  const left = seconds(event.time) + event.retry_in_ms / 1000 - now;
  return left > 0 ? `The next start is tried in ${duration(left)}.` : 'A start is being tried.';
}

const HIGH = 0.9;  // the mark of the memory tile
const PRESSURES = {ok: 'awake', high: 'memory', critical: 'failing', unknown: 'starting'};

/** The shape and the words of a pressure of memory. */
export function pressureOf(value) {
  const kind = Object.hasOwn(PRESSURES, value) ? PRESSURES[value] : 'starting';
  return [shapeOf(kind), ` pressure ${value ?? 'unknown'}`];
}

function tile(name, href) {
  const value = el('span.big');
  const note = el('span.note');
  const picture = el('canvas', {'aria-hidden': 'true'});
  const inner = [el('span.tile-name', {}, name), value, note];
  return {node: href ? el('a.tile', {href}, inner) : el('div.tile', {}, inner), value, note, picture};
}

export class Tiles {
  constructor(node) {
    this.services = tile('Services', '#/');
    this.replicas = tile('Replicas ready / wanted');
    this.rate = tile('Requests per second');
    this.held = tile('Held requests');
    this.panic = tile('In panic');
    this.memory = tile('Memory', '#/memory');
    this.rate.node.append(this.rate.picture);
    this.held.node.append(this.held.picture);
    this.fill = el('span.fill');
    const mark = el('span.mark');
    mark.style.left = `${100 * HIGH}%`;
    this.bar = el('span.bar', {'aria-hidden': 'true'}, this.fill, mark);
    this.memory.value.after(this.bar);
    this.points = {};
    fill(node, [this.services, this.replicas, this.rate, this.held, this.panic, this.memory].map((each) => each.node));
  }

  redraw(overview) {
    this.points = {};
    if (overview) this.show(overview);
  }

  show(overview) {
    const {services = {}} = overview;
    setText(this.services.value, whole(services.all));
    setParts(this.services.note, ['failing', 'awake', 'starting', 'asleep', 'draining'].filter((state) => services[state]).map((state) => `${whole(services[state])} ${state}`));
    this.services.note.toggleAttribute('data-bad', services.failing > 0);
    setText(this.replicas.value, `${whole(overview.ready)} / ${whole(overview.want)}`);
    const missing = Math.max(0, (overview.want ?? 0) - (overview.ready ?? 0));
    setParts(this.replicas.note, missing ? [`${whole(missing)} not ready`, services.memory ? `${count(services.memory, 'service')} short of memory` : ''] : ['all are ready']);
    setText(this.rate.value, figure(overview.rps));
    setParts(this.rate.note, overview.p99_ms ? [`p50 ${milliseconds(overview.p50_ms)}`, `p99 ${milliseconds(overview.p99_ms)}`] : ['no requests']);
    setText(this.held.value, whole(overview.queued));
    const most = overview.queued_points ? Math.max(0, ...overview.queued_points.map((point) => point ?? 0)) : null;
    setParts(this.held.note, most === null ? [] : [`most in 5 min: ${whole(most)}`]);
    this.showPanic(overview.panic ?? [], services.panic);
    this.showMemory(overview.memory, overview.form);
    this.draw(this.rate.picture, 'rps', overview.rps_points, 'ready');
    this.draw(this.held.picture, 'queued', overview.queued_points, 'held');
  }

  draw(canvas, name, points, color) {
    canvas.hidden = !points;
    const key = points?.join();
    if (points && this.points[name] !== key) spark(canvas, points, color);
    this.points[name] = key;
  }

  showPanic(panic, number = panic.length) {
    setText(this.panic.value, whole(number));
    this.panic.node.toggleAttribute('data-panic', number > 0);
    const names = panic.slice(0, 2).map((each) => `${each.name}, for ${minutes(each.for_s)}`);
    setParts(this.panic.note, number ? [...names, number > 2 ? '\u2026' : ''] : ['no service']);
  }

  showMemory(memory, form) {
    this.memory.node.hidden = !memory && form !== 'cluster';
    this.bar.hidden = !memory;
    if (!memory) {
      setText(this.memory.value, '\u2013');
      setParts(this.memory.note, ['by node']);
      return;
    }
    const part = memory.used_bytes / memory.capacity_bytes;
    setText(this.memory.value, `${Math.round(100 * part)} %`);
    this.fill.style.width = `${Math.min(100, 100 * part)}%`;
    const pressed = ['high', 'critical'].includes(memory.pressure);
    this.memory.node.toggleAttribute('data-high', pressed || part >= HIGH);
    setParts(this.memory.note, [pressed && pressureOf(memory.pressure), ofBytes(memory.used_bytes, memory.capacity_bytes), `room for ${bytes(memory.admit_bytes)} more`]);
  }
}

// One service: what it is and does in a sentence, four charts on one axis, and the cards beside them.

import {get, getOrNull, lines, pathOf} from './live.js';
import {EventsCard, ReplicasCard, StartsCard, WhyCard, card, failureCard, memoryBar, retryText} from './cards.js';
import {Chart, band, heat, line, marks, stack, steps, ticks} from './chart.js';
import {boundsDialog, moveDialog, sleepDialog, trafficDialog, wakeDialog} from './edit.js';
import {WhereCard} from './places.js';
import {clock, el, figure, fill, kindOf, link, milliseconds, minutes, ofBytes, seconds, setText, shapeOf, tenths, whole, wordOf} from './text.js';
import {sentences} from './why.js';

const EVENTS_MAX = 2000;
const ROWS_KEPT = 400;
const REFRESH_MS = 10000;
const EXPLAIN_MS = 1000;
/** Range -> seconds, and the step that is asked for. */
export const RANGES = {'5m': [300, 1], '15m': [900, 10], '1h': [3600, 10], '6h': [21600, 60], '7d': [604800, 1800]};
const ROW = ['ready', 'starting', 'draining', 'want', 'stable', 'panic', 'target', 'rps', 'errors', 'refused', 'queued', 'in_flight', 'p50_ms', 'p99_ms', 'latency'];

const EXTRA = ['carry', 'breach'];

// What the charts show beside the columns that the API answers: what the ready replicas should carry, and above which load panic
// begins: ceil(load / target) is then at least `threshold` times the ready ones.
function derive(names, row, threshold) {
  const ready = row[names.indexOf('ready')];
  const target = row[names.indexOf('target')];
  if (!(target > 0)) return [null, null];
  return [ready * target, (Math.ceil(threshold * Math.max(1, ready)) - 1) * target];
}

function panelsOf(view) {
  const panic = (label) => band({spans: () => view.panics(), color: 'panic', label});
  return [
    {title: 'Load', note: 'requests at once', height: 118, floor: 1, text: figure, layers: [panic('panic'),
      steps({name: 'ready replicas carry', column: 'carry', color: 'strong', dash: [2, 2.5], text: tenths}),
      steps({name: 'panic starts', column: 'breach', color: 'draining', dash: [5, 3], text: tenths, clipped: true}),
      line({name: 'stable window', column: 'stable', color: 'ready', text: tenths, width: 2}),
      line({name: 'panic window', column: 'panic', color: 'panic', text: tenths, width: 2})]},
    {title: 'Replicas', note: '\u25c7 a decision: choose it for its reason', height: 106, floor: 2, text: figure, layers: [panic(),
      stack([{name: 'ready', column: 'ready', color: 'ready-area', text: whole}, {name: 'starting', column: 'starting', color: 'starting', text: whole},
        {name: 'draining', column: 'draining', color: 'draining', text: whole}]),
      steps({name: 'wanted', column: 'want', color: 'strong', text: whole}),
      ticks({moments: () => view.starts.map((start) => ({time: seconds(start.time), text: `cold start ${milliseconds(start.total_ms)}`})), color: 'held', label: true}),
      marks({points: () => view.decisionPoints()})]},
    {title: 'Requests per second', height: 96, floor: 1, text: figure, layers: [panic(),
      line({name: 'answered', column: 'rps', color: 'ready', text: figure, fill: 'ready-wash'}),
      line({name: 'refused', column: 'refused', color: 'error', text: figure, quiet: true}),
      line({name: 'errors', column: 'errors', color: 'error', dash: [3, 2], text: figure, quiet: true}),
      line({name: 'held, own scale', column: 'queued', color: 'held', text: whole, width: 2, peak: (value) => `${whole(value)} held`})]},
    {title: 'Latency', note: 'log scale, at the front door', height: 118, log: ['p50_ms', 'p99_ms'], text: milliseconds, layers: [panic(),
      heat({name: 'share of requests', column: 'latency', color: 'ready'}),
      line({name: 'p50', column: 'p50_ms', color: 'deep', text: milliseconds}),
      line({name: 'p99', column: 'p99_ms', color: 'wine', text: milliseconds})]},
  ];
}

export class ServiceView {
  /** `app` gives now(), range(), canEdit(), speak(), onchoose(time), load(), gone(), places, fleet, overview. */
  constructor({space, name, app, at}) {
    Object.assign(this, {space, name, app, at});
    this.status = null;
    this.decision = null;   // in force now
    this.past = null;       // in force at `at`
    this.events = [];
    this.changes = 0;
    this.starts = [];
    this.throttled = [];
    this.failure = null;
    this.chart = new Chart({panels: panelsOf(this), onpick: (time) => this.look(time)});
    this.why = new WhyCard((way) => this.step(way));
    this.cold = new StartsCard();
    this.replicas = new ReplicasCard();
    this.where = new WhereCard();
    this.happened = new EventsCard((time) => this.look(time));
    this.memory = card('Memory');
    this.memory.node.hidden = true;
    this.title = el('h1', {}, name);
    this.pill = el('span.pill');
    this.revision = el('span.pill.plain');
    this.shares = el('span.shares');
    this.url = el('span.url');
    this.buttons = el('span.buttons', {role: 'group', 'aria-label': 'Changes'});
    this.sentence = el('p.sentence');
    this.alert = el('div');
    this.then = el('p.then', {hidden: true, role: 'status'});
    this.node = el('article.service', {'aria-label': `Service ${name}`},
      el('div.center', {},
        el('section.card.headline', {}, el('div.head-line', {}, el('a.back', {href: '#/'}, '\u2190 Services'), this.title, this.pill, this.revision, this.shares, this.url, el('span.space'), this.buttons), this.sentence),
        this.alert, el('section.card.charts', {'aria-label': 'Charts'}, this.then, this.chart.node), this.happened.node),
      el('div.right', {}, this.why.node, this.where.node, this.cold.node, this.replicas.node, this.memory.node));
    this.chart.pin(at);
    this.timer = setInterval(() => this.refresh(), REFRESH_MS);
  }

  close() {
    clearInterval(this.timer);
    clearTimeout(this.soon);
    this.chart.close();
    this.closed = true;
  }

  threshold() {
    return this.decision?.inputs?.panic_threshold ?? 2;
  }

  path(rest) {
    return pathOf(this.space, this.name, rest);
  }

  /** Reads everything again; throws a Problem where there is no such service. */
  async load() {
    const since = this.app.range();
    const [status, decision, history, starts, memory] = await Promise.all([get(this.path('')), getOrNull(this.path('/explain')), getOrNull(this.path(`/history?since=${since}`)),
      getOrNull(this.path('/cold-starts?since=24h')), this.readMemory(), this.loadSeries()]);
    if (this.closed) return;
    Object.assign(this, {status, decision, starts: starts?.items ?? []});
    this.moreStarts = Boolean(starts?.next);
    this.note([...(history?.items ?? []).map((each) => ['decision', each]), ...this.app.places.movesOf(this.name).map((each) => ['move', each]), ...this.starts.map((each) => ['cold_start', each])]);
    this.showMemory(memory);
    await this.loadFailure();
    if (this.at !== null) await this.look(this.at);
    this.showHead();
    this.draw();
  }

  // A cluster has that of its nodes.
  async readMemory() {
    return (await this.app.known()).form === 'cluster' ? null : getOrNull('memory');
  }

  async loadSeries() {
    const [, step] = RANGES[this.app.range()];
    const series = await getOrNull(this.path(`/series?since=${this.app.range()}&step=${step}s`));
    if (this.closed) return;
    if (!series) {
      this.chart.rows.clear();
      return;
    }
    const columns = [...series.columns, ...EXTRA];
    const rows = series.rows.map((row) => row && [...row, ...derive(series.columns, row, this.threshold())]);
    this.chart.rows.load({start: seconds(series.start), step_ms: series.step_ms, columns, rows});
  }

  async loadFailure() {
    const {status} = this;
    if (status.state !== 'failing' && !status.not_ready?.length) {
      fill(this.alert);
      return;
    }
    // What only waits for room has nothing to say of itself.
    const log = status.state === 'failing' ? await this.lastLines() : [];
    this.retry = el('p', {}, retryText(this.failure, this.app.now()));
    fill(this.alert, failureCard(status, log, this.retry));
  }

  lastLines() {
    return lines(this.path('/logs?tail=10')).catch((problem) => (problem.status === 403 ? null : []));
  }

  // What no event brings: longer ranges, callers, memory.
  async refresh() {
    if (document.hidden || this.closed || !this.status || this.app.frozen()) return;
    try {
      const [memory] = await Promise.all([this.readMemory(), this.app.range() === '5m' ? null : this.loadSeries(), this.explainSoon()]);
      this.showMemory(memory);
      this.draw();
    } catch {
      // The stream says that the engine is gone.
    }
  }

  /** The answer to `explain` a moment after a decision, and what changes in that moment in one. */
  explainSoon() {
    this.soon ??= setTimeout(async () => {
      this.soon = undefined;
      try {
        const [status, decision] = await Promise.all([get(this.path('')), getOrNull(this.path('/explain'))]);
        if (this.closed) return;
        if (!this.node.isConnected) {  // it was gone
          this.app.load();
          return;
        }
        const was = this.status?.state;
        Object.assign(this, {status, decision});
        if (was !== status.state) await this.loadFailure();
        this.showHead();
      } catch (problem) {
        if (problem.status === 404 && !this.closed) this.app.gone();
      }
    }, EXPLAIN_MS);
  }

  /** An event of the stream. */
  event(type, data) {
    if (data.service !== undefined && data.service !== this.name) return;
    if (data.namespace !== undefined && data.namespace !== this.space) return;
    if (type === 'sample') {
      this.sample(data);
      return;
    }
    this.note([[type, data]]);
    if (type === 'cold_start') this.starts.unshift(data);
    if (type === 'replica' && data.state === 'exited') this.failure = data;
    if (type === 'decision') {
      this.decision = {...data, inputs: data.inputs ?? this.decision?.inputs, keeps_awake: this.decision?.keeps_awake};
      this.app.speak(`${this.name}: ${whole(data.granted)} replicas, ${data.mode}`);
    }
    this.explainSoon();
  }

  sample({t, row, replicas}) {
    const last = this.chart.rows.times.at(-1);
    if (this.app.range() === '5m') {
      if (last !== undefined && t < last - 5) this.chart.rows.clear();
      this.chart.rows.add(t, [...ROW, ...EXTRA], [...row, ...derive(ROW, row, this.threshold())], ROWS_KEPT);
    }
    if (!this.status) return;
    const value = (name) => row[ROW.indexOf(name)];
    const before = `${this.status.ready} ${this.status.desired}`;
    Object.assign(this.status, {ready: value('ready'), starting: value('starting'), draining: value('draining'), desired: value('want'), stable: value('stable'), panic: value('panic')});
    const known = new Map((this.status.replicas ?? []).map(({id, place}) => [id, place]));
    if (replicas) this.status.replicas = replicas.map(([id, state, flight, memory, throttled]) => ({id, state, in_flight: flight, memory_bytes: memory, throttled, place: known.get(id)}));
    if (before !== `${this.status.ready} ${this.status.desired}`) this.explainSoon();
  }

  /** Adds [type, event] pairs to what happened, each once. */
  note(pairs) {
    const known = new Set(this.events.map((entry) => entry.key));
    for (const [type, event] of pairs) {
      const time = seconds(type === 'move' ? event.began : event.time);
      const key = type === 'move' ? `move ${event.id}` : `${type} ${event.time} ${event.id ?? event.replica ?? ''} ${event.state ?? event.granted ?? event.detail ?? ''}`;
      const told = type !== 'service' && (type !== 'replica' || event.state === 'exited');
      if (type === 'move' && known.has(key)) {
        this.events.find((entry) => entry.key === key).event = event;
        this.changes += 1;
      }
      if (!told || known.has(key) || !Number.isFinite(time)) continue;
      known.add(key);
      this.events.push({type, time, event, key});
    }
    this.events.sort((a, b) => b.time - a.time);
    this.events.length = Math.min(this.events.length, EVENTS_MAX);
    let before = null;
    for (const entry of this.decisions().reverse()) {
      entry.before = before;
      before = entry.event.granted;
    }
  }

  decisions() {
    return this.events.filter((entry) => entry.type === 'decision');
  }

  decisionPoints() {
    return this.decisions().filter((entry) => entry.before !== entry.event.granted).map(({time, event}) => ({time, value: event.granted, filled: event.mode === 'panic', color: 'panic-mark'}));
  }

  /** Spans of panic: [{from, to}]; the one that is on has no end. */
  panics() {
    const spans = [];
    for (const {time, event} of this.decisions().reverse()) {
      const open = spans.at(-1);
      if (event.mode === 'panic' && (!open || open.to !== null)) spans.push({from: time, to: null});
      else if (event.mode !== 'panic' && open && open.to === null) open.to = time;
    }
    const now = this.decision;
    const since = now?.mode === 'panic' ? seconds(now.time) - (now.inputs?.mode_for_s ?? 0) : null;
    if (since !== null && (!spans.length || spans.at(-1).to !== null)) spans.push({from: since, to: null});
    if (now && now.mode !== 'panic' && spans.at(-1)?.to === null) spans.at(-1).to = seconds(now.time);
    return spans;
  }

  // ---- Looking at another time ----

  /** Shows the decision in force at `time`; null: now. */
  async look(time) {
    this.at = time;
    this.chart.pin(time);
    this.app.onchoose(time);
    if (time === null) {
      this.past = null;
    } else {
      const known = this.decisions().find((entry) => Math.abs(entry.time - time) < 0.0005);
      this.past = known?.event ?? null;
      // Times in texts are cut to milliseconds: a decision begins within the one it has.
      const asked = new Date(time * 1000 + 1).toISOString();
      const answer = await getOrNull(this.path(`/explain?at=${encodeURIComponent(asked)}`)).catch(() => null);
      if (this.at !== time || this.closed) return;
      if (answer && (!known || answer.time === known.event.time)) this.past = answer;
    }
    this.showWhy();
    this.draw();
  }

  /** To the decision before or after the one that is shown. */
  step(way) {
    const times = this.decisions().map((entry) => entry.time).reverse();
    if (!times.length) return;
    const at = this.at ?? Infinity;
    const next = way < 0 ? times.filter((time) => time < at - 0.0005).pop() : times.find((time) => time > at + 0.0005);
    this.look(next ?? (way > 0 ? null : times[0]));
  }

  // ---- What is shown ----

  showHead() {
    const {status} = this;
    if (!status) return;
    // Of memory the list knows, of the rest the status.
    const listed = this.app.fleet.rows.get(`${this.space}/${this.name}`)?.trouble;
    const kind = kindOf({...status, trouble: status.state === 'failing' ? 'failing' : status.mode !== 'panic' && listed === 'memory' ? listed : null});
    const since = this.decision?.mode === 'panic' ? seconds(this.decision.time) - (this.decision.inputs?.mode_for_s ?? NaN) : NaN;
    const pill = kind === 'panic' && Number.isFinite(since) ? `panic for ${minutes(this.app.now() - since)}` : wordOf(kind);
    if (this.pill.dataset.kind !== kind) {
      this.pill.dataset.kind = kind;
      fill(this.pill, shapeOf(kind), ' ', el('span', {}, pill));
    }
    setText(this.pill.lastChild, pill);
    setText(this.revision, status.revision ?? '');
    if (this.url.textContent !== (status.url ?? '')) fill(this.url, status.url ? link(status.url) : null);
    const parts = sentences(status, this.decision);
    const key = JSON.stringify(parts);
    if (key !== this.said) fill(this.sentence, parts.map((part) => (part.kind === 'plain' ? part.text : el('b', {'data-kind': part.kind}, part.text))));
    this.said = key;
    if (this.retry) setText(this.retry, retryText(this.failure, this.app.now()));
    this.showButtons();
    this.showWhy();
    this.where.show(status, this.decision);
    const shares = (status.places ?? []).map((share) => `${share.name} ${share.ready < share.replicas ? `${whole(share.ready)}/` : ''}${whole(share.replicas)}`);
    if (`${shares}` !== this.shared) fill(this.shares, shares.map((text) => el('span.pill.plain', {title: 'Replicas in this place'}, text)));
    this.shared = `${shares}`;
    this.cold.show(this.starts, this.moreStarts);
  }

  showButtons() {
    const can = this.app.canEdit();
    const moves = this.app.places.known;
    const key = `${can} ${moves}`;
    if (this.could === key) return;
    this.could = key;
    const button = (text, open) => el('button', {type: 'button', onclick: () => open({status: this.status, path: this.path(''), done: () => this.explainSoon()})}, text);
    fill(this.buttons, can ? [button('Wake', wakeDialog), button('Sleep', sleepDialog), button('Bounds\u2026', boundsDialog), this.app.overview?.form === 'cluster' ? null : button('Traffic\u2026', trafficDialog),
      moves ? button('Move\u2026', moveDialog) : null] : []);
  }

  showWhy() {
    const decision = this.at === null ? this.decision : this.past;
    const key = JSON.stringify([decision, this.at]);
    if (key !== this.whySaid) this.why.show(decision, this.at !== null, this.status?.state === 'failing' ? this.status.why : '');
    this.whySaid = key;
    this.then.hidden = this.at === null;
    if (this.at !== null && this.then.dataset.at !== String(this.at)) {
      this.then.dataset.at = this.at;
      fill(this.then, `Looking at ${clock(this.at, 'day')}:${clock(this.at).slice(-2)}. `, el('button.link', {type: 'button', onclick: () => this.look(null)}, 'Back to now'));
    }
  }

  showMemory(memory) {
    this.throttled = memory?.throttled ?? [];
    this.memory.node.hidden = !memory;
    if (memory) {
      setText(this.memory.side, ofBytes(memory.used_bytes, memory.capacity_bytes));
      fill(this.memory.body, memoryBar(memory), el('p', {}, el('a', {href: '#/memory'}, 'All of it')));
    }
  }

  /** Everything that moves with time. */
  draw() {
    if (!this.status) return;
    const [span] = RANGES[this.app.range()];
    const {axis, rows} = this.chart;
    const now = Math.max(this.app.now(), rows.times.at(-1) ?? 0);
    const end = this.at !== null && this.at < now - span ? this.at + span / 2 : now;
    axis.to = end;
    axis.from = end - span;
    setText(this.chart.panels[0].note, this.decision?.metric === 'rps' ? 'requests per second' : 'requests at once');
    this.chart.draw();
    this.happened.show(this.events, this.at, this.changes);
    this.replicas.show(this.status.replicas ?? [], this.status, this.throttled);
    if (this.app.now() - (this.described ?? 0) > 5) {
      this.described = this.app.now();
      this.chart.describe();
    }
  }
}

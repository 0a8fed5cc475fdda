// The services: a list of which only the rows in view are in the page, wide on its own or narrow beside one service.

import {list} from './live.js';
import {spark} from './chart.js';
import {el, figure, fill, hrefOf, isTrouble, kindOf, milliseconds, nameOf, rankOf, setShape, setText, shapeOf, tenths, whole, wordOf} from './text.js';
import {noteOf} from './why.js';

const BEYOND = 6;  // rows kept above and below what is in view

/**
 * `make()` gives {node, show(item), link}: a row and how it shows an item; `key(item)` is what an item is known by. `scroller` is
 * the element that scrolls, null for the page.
 */
class Table {
  constructor({make, key, label, role = 'list', rowRole = 'listitem', onview = () => {}}) {
    Object.assign(this, {make, key, rowRole, onview});
    this.items = [];
    this.shown = new Map();  // index -> row
    this.spare = [];
    this.body = el('div.rows', {role: role === 'list' ? 'list' : 'rowgroup', 'aria-label': role === 'list' ? label : null});
    this.node = this.body;
    this.later = 0;
    this.moved = () => this.schedule();
    document.addEventListener('scroll', this.moved, {capture: true, passive: true});
    this.size = new ResizeObserver(this.moved);
    this.size.observe(this.body);
    this.body.addEventListener('keydown', (event) => this.step(event));
  }

  close() {
    document.removeEventListener('scroll', this.moved, {capture: true});
    this.size.disconnect();
    cancelAnimationFrame(this.later);
  }

  schedule() {
    this.later ||= requestAnimationFrame(() => {
      this.later = 0;
      this.view();
    });
  }

  /** Other items, or others in front: the focus stays with its item. */
  set(items) {
    const at = this.focused();
    const held = at ? this.key(this.items[at[0]]) : null;
    this.items = items;
    this.view(true);
    if (held === null) return;
    const row = this.shown.get(items.findIndex((item) => this.key(item) === held));
    if (row && row !== at[1]) row.link.focus({preventScroll: true});
  }

  focused() {
    return [...this.shown].find(([, row]) => row.node.contains(document.activeElement));
  }

  /** [first, last) of the rows in view and a few beyond. */
  range() {
    const height = this.rowHeight();
    const box = this.body.getBoundingClientRect();
    const frame = this.body.closest('.scroller')?.getBoundingClientRect();
    const top = Math.max(0, frame?.top ?? 0);
    const bottom = Math.min(window.innerHeight, frame?.bottom ?? Infinity);
    const first = Math.floor((top - box.top) / height) - BEYOND;
    const last = Math.ceil((bottom - box.top) / height) + BEYOND;
    const end = Math.min(this.items.length, Math.max(0, last));
    return [Math.min(end, Math.max(0, first)), end];
  }

  rowHeight() {
    const height = parseFloat(getComputedStyle(this.body).getPropertyValue('--row'));
    return height > 0 ? height : 44;
  }

  view(again = false) {
    const height = this.rowHeight();
    const whole = `${this.items.length * height}px`;
    if (this.body.style.height !== whole) this.body.style.height = whole;
    const [first, last] = this.range();
    for (const [index, row] of this.shown) {
      if (index >= first && index < last) continue;
      // A row with the focus stays, or the keyboard would lose its place.
      if (index < this.items.length && row.node.contains(document.activeElement)) continue;
      this.shown.delete(index);
      this.spare.push(row);
    }
    let changed = again || this.height !== height;
    this.height = height;
    for (let index = first; index < last; index += 1) changed = this.place(index, changed) || changed;
    if (changed) for (const [index, row] of this.shown) this.fit(row, index);
    for (const row of this.spare.splice(0)) row.node.remove();
    if (changed) this.onview(this.items.slice(first, last));
  }

  place(index, again) {
    let row = this.shown.get(index);
    if (row && !again) return false;
    if (!row) {
      row = this.spare.pop() ?? this.make();
      row.node.setAttribute('role', this.rowRole);
      this.shown.set(index, row);
      // In the order of the list, for readers that go by the order of the page.
      const after = Math.min(...[...this.shown.keys()].filter((other) => other > index));
      this.body.insertBefore(row.node, this.shown.get(after)?.node ?? null);
      this.fit(row, index);
      return true;
    }
    return false;
  }

  fit(row, index) {
    row.node.style.transform = `translateY(${index * this.height}px)`;
    row.node.setAttribute(this.rowRole === 'row' ? 'aria-rowindex' : 'aria-posinset', index + (this.rowRole === 'row' ? 2 : 1));
    if (this.rowRole !== 'row') row.node.setAttribute('aria-setsize', this.items.length);
    row.show(this.items[index]);
  }

  /** Shows the items of `keys` again, if they are in view. */
  renew(keys) {
    for (const [index, row] of this.shown) if (keys.has(this.key(this.items[index]))) row.show(this.items[index]);
  }

  /** Arrows move from row to row. */
  step(event) {
    const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity}[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.focused();
    if (!at) return;
    event.preventDefault();
    this.focus(Math.min(this.items.length - 1, Math.max(0, at[0] + move)));
  }

  focus(index) {
    if (index < 0 || index >= this.items.length) return;
    const frame = this.body.closest('.scroller');
    const top = this.body.getBoundingClientRect().top + index * this.height;
    const [low, high] = frame ? [frame.getBoundingClientRect().top, frame.getBoundingClientRect().bottom] : [0, window.innerHeight];
    const over = top < low ? top - low : Math.max(0, top + this.height - high);
    if (over) (frame ?? window).scrollBy({top: over, behavior: 'instant'});
    this.view();
    this.shown.get(index)?.link.focus({preventScroll: true});
  }
}

// ---- The services in it ----

const ROWS_MAX = 10000;
const POINTS = 60;
const POINT_SECONDS = 5;
const ASKED_MAX = 60;  // rows named in one address

export function keyOf(row) {
  return `${row.namespace}/${row.name}`;
}

function troubleFirst(a, b) {
  return rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1);
}

const CHIPS = {all: () => true, awake: (row) => row.state === 'awake', trouble: isTrouble};

/** All rows, and which of them are wanted; trouble comes first. */
export class Fleet {
  constructor() {
    this.rows = new Map();
    this.more = false;
    this.loaded = false;
    this.text = '';
    this.chip = 'all';
  }

  async load() {
    const {items, more} = await list('services?brief=1', ROWS_MAX);
    const now = Date.now();
    for (const row of items) Object.assign(row, {pointsAt: now, key: keyOf(row)});
    this.rows = new Map(items.map((row) => [keyOf(row), row]));
    this.more = more;
    this.loaded = true;
  }

  /** Rows of an event: what they have replaces what was there. True when the order of the list may be another. */
  apply({rows = [], gone = []}) {
    let moved = gone.length > 0;
    for (const key of gone) this.rows.delete(key);
    for (const change of rows) {
      const row = this.rows.get(keyOf(change));
      if (!row) {
        this.rows.set(keyOf(change), {...change, key: keyOf(change), points: [], pointsAt: Date.now()});
        moved = true;
        continue;
      }
      const rank = rankOf(row);
      Object.assign(row, change);
      moved ||= rankOf(row) !== rank;
      this.append(row);
    }
    return moved;
  }

  // The small line continues by itself: a point each five seconds.
  append(row) {
    const points = row.points ?? (row.points = []);
    const steps = Math.floor((Date.now() - row.pointsAt) / (1000 * POINT_SECONDS));
    if (steps < 1) {
      if (points.length) points[points.length - 1] = row.rps ?? null;
      return;
    }
    for (let i = 1; i < Math.min(steps, POINTS); i += 1) points.push(points.at(-1) ?? null);
    points.push(row.rps ?? null);
    points.splice(0, Math.max(0, points.length - POINTS));
    row.pointsAt += steps * 1000 * POINT_SECONDS;
  }

  chosen() {
    const text = this.text.toLowerCase();
    return [...this.rows.values()].filter((row) => CHIPS[this.chip](row) && row.key.toLowerCase().includes(text)).sort(troubleFirst);
  }

  counts() {
    const rows = [...this.rows.values()];
    return Object.fromEntries(Object.entries(CHIPS).map(([name, test]) => [name, rows.filter(test).length]));
  }
}

const HEADS = [['state', 'State'], ['name', 'Service'], ['trend', 'Requests, 5 min'], ['ready', 'Ready / wanted'], ['where', 'Places'], ['load', 'Load stable / panic / target'], ['rps', 'Per second'],
  ['held', 'Held'], ['latency', 'p50 / p99'], ['cold', 'Last cold start'], ['why', 'Why']];

// One row and how it shows a service; cells that a width has no room for are hidden by the style sheet.
function makeRow(view) {
  const shape = shapeOf('asleep');
  const word = el('span.word');
  const link = el('a', {href: '#/', tabindex: '0'});
  const note = el('span.note', {});
  const canvas = el('canvas', {'aria-hidden': 'true'});
  const cells = {state: [shape, word], name: [link, note], trend: [canvas]};
  const texts = {};
  const node = el('div.row', {}, HEADS.map(([name]) => {
    if (!cells[name]) {
      texts[name] = el('span');
      cells[name] = [texts[name]];
    }
    return el(`div.cell.${name}`, {role: 'cell'}, cells[name]);
  }));
  return {node, link, show: (row) => showRow({node, shape, word, link, note, canvas, texts}, row, view)};
}

function showRow(parts, row, view) {
  const {node, shape, word, link, note, canvas, texts} = parts;
  const kind = kindOf(row);
  setShape(shape, kind);
  setText(word, wordOf(kind));
  setText(link, nameOf(row));
  const href = hrefOf(row);
  if (link.getAttribute('href') !== href) link.setAttribute('href', href);
  node.toggleAttribute('data-chosen', keyOf(row) === view.chosen);
  if (keyOf(row) === view.chosen) link.setAttribute('aria-current', 'page');
  else link.removeAttribute('aria-current');
  setText(note, noteOf(row));
  note.title = noteOf(row);
  setText(texts.ready, `${whole(row.ready)}/${whole(row.want)}`);
  node.toggleAttribute('data-short', row.ready < row.want);
  setText(texts.where, view.places.texts.get(keyOf(row)) ?? '\u2013');
  texts.where.title = texts.where.textContent;
  setText(texts.load, row.state === 'asleep' ? '\u2013' : `${tenths(row.stable)} / ${tenths(row.panic)} / ${tenths(row.target)}`);
  setText(texts.rps, figure(row.rps));
  setText(texts.held, row.queued ? whole(row.queued) : '\u2013');
  texts.held.parentNode.toggleAttribute('data-held', row.queued > 0);
  setText(texts.latency, row.p99_ms ? `${figure(row.p50_ms)} / ${milliseconds(row.p99_ms)}` : '\u2013');
  setText(texts.cold, milliseconds(row.last_cold_start_ms));
  const why = row.state === 'asleep' ? '' : row.why ?? '';
  setText(texts.why, why);
  texts.why.title = why;
  const drawn = row.points?.length ? `${row.points.length} ${row.points.at(-1)} ${row.pointsAt} ${keyOf(row)} ${view.theme()}` : '';
  if (canvas.drawn !== drawn) spark(canvas, row.points, kind === 'failing' ? 'error' : 'ready');
  canvas.drawn = drawn;
}

const COMMANDS = [['sluice up -- python3 -m http.server \'$PORT\'', 'a program that listens on $PORT'], ['sluice up -f services.yaml', 'services of a file'],
  ['sluice up --demo', 'the built-in example']];

function emptyCard(form) {
  if (form === 'cluster') {
    return el('div.card.empty', {}, el('h2', {}, 'No service yet'), el('p', {}, 'A service appears here when a RequestScaler names a Deployment:'),
      el('pre', {tabindex: '0'}, 'kubectl apply -f requestscaler.yaml'));
  }
  return el('div.card.empty', {}, el('h2', {}, 'No service yet'), el('p', {}, 'This engine runs and has nothing to scale. Add a service from a terminal; it appears here by itself.'),
    el('dl', {}, COMMANDS.flatMap(([command, what]) => [el('dt', {}, el('code', {}, command)), el('dd', {}, what)])));
}

/** The list of a Fleet; show() after its node is in the page. `chosen` is the key of the service beside it, or null. */
export class FleetView {
  constructor({fleet, narrow, chosen = null, theme, places, onrows = () => {}, form}) {
    Object.assign(this, {fleet, chosen, theme, places, form});
    this.table = new Table({make: () => makeRow(this), key: keyOf, label: 'Services', role: 'table', rowRole: 'row',
      onview: (rows) => onrows(rows.slice(0, ASKED_MAX).map(keyOf))});
    this.filter = el('input', {type: 'search', id: 'filter', 'aria-label': 'Filter services', autocomplete: 'off', spellcheck: 'false', oninput: () => this.choose({text: this.filter.value})});
    this.chips = Object.keys(CHIPS).map((name) => el('button.chip', {type: 'button', 'aria-pressed': String(name === fleet.chip), onclick: () => this.choose({chip: name})}));
    this.none = el('p.none', {hidden: true});
    this.filter.value = fleet.text;
    const head = el('div', {role: 'rowgroup'}, el('div.head', {role: 'row', 'aria-rowindex': '1'}, HEADS.map(([name, text]) => el(`div.cell.${name}`, {role: 'columnheader'}, text))));
    this.grid = el('div.grid', {role: 'table', 'aria-label': 'Services'}, head, this.table.node);
    this.body = el('div.list-body', {}, this.grid);
    this.card = el('div.card.list', {}, el('div.list-tools', {}, el('div.filter', {}, this.filter, el('kbd', {'aria-hidden': 'true'}, '/')),
      el('div.chips', {role: 'group', 'aria-label': 'Which services'}, this.chips)), this.body, this.none);
    if (narrow) this.body.classList.add('scroller');
    this.small = matchMedia('(max-width: 860px)');
    this.fit = () => this.node.classList.toggle('narrow', narrow || this.small.matches);
    this.small.addEventListener('change', this.fit);
    this.node = el(narrow ? 'nav.side' : 'div.fleet', narrow ? {'aria-label': 'Services'} : {}, this.card);
    this.fit();
  }

  close() {
    this.small.removeEventListener('change', this.fit);
    this.table.close();
  }

  choose(change) {
    Object.assign(this.fleet, change);
    this.show();
  }

  /** Everything, after rows came, went or moved. */
  show() {
    const {fleet} = this;
    const empty = fleet.loaded && fleet.rows.size === 0;
    if (empty !== this.empty) {
      this.empty = empty;
      fill(this.node, empty ? emptyCard(this.form()) : this.card);
    }
    if (empty) return;
    const counts = fleet.counts();
    Object.keys(CHIPS).forEach((name, i) => {
      setText(this.chips[i], `${name} ${whole(counts[name])}`);
      this.chips[i].setAttribute('aria-pressed', String(name === fleet.chip));
    });
    this.filter.placeholder = fleet.loaded ? `Filter ${whole(counts.all)} services` : 'Filter';
    this.grid.toggleAttribute('data-placed', this.places.known);
    const rows = fleet.chosen();
    this.grid.setAttribute('aria-rowcount', rows.length + 1);
    this.table.set(rows);
    this.none.hidden = rows.length > 0 && !fleet.more;
    setText(this.none, !fleet.loaded ? 'Reading\u2026' : fleet.more ? 'There are more services than are listed here: filter by name on a terminal, sluice get NAME.'
      : fleet.chip === 'trouble' && !fleet.text ? 'No service is in trouble.' : 'No service has that in its name.');
  }

  /** The rows of an event. */
  apply(event) {
    if (this.fleet.apply(event)) this.show();
    else this.table.renew(new Set((event.rows ?? []).map(keyOf)));
  }
}

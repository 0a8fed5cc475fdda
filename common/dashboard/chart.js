// Charts: panels one below the other on one time axis with one cursor. Each panel is a canvas with layers (band, steps, stack,
// line, heat, marks, ticks); names, values and labels are text of the page.

import {clock, el, fill, setText} from './text.js';

const TICK_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];
const TICK_PIXELS = 92;
const NARROW = 400;     // pixels of an axis whose labels stand closer
const LOG_TICKS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10000];
const TABLE_ROWS = 60;
const PICK_PIXELS = 12;
const HEAT_BASE = 1.5;  // bucket k ends at 1.5^k ms
const EDGE = 5;         // pixels above and below the scale, for marks
const OWN_PART = 0.5;   // of the height, for a line with a scale of its own

const palette = new Map();
const probe = el('span', {hidden: true});

/** A colour of the style sheet by its name, `--ready` and so on, as the theme has it. */
export function color(name) {
  if (!palette.has(name)) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    palette.set(name, getComputedStyle(probe).color);
  }
  return palette.get(name);
}

/** After another theme. */
export function forgetColors() {
  palette.clear();
}

// Texts at places in a node, whose elements are used again: draw(() => { add(…); add(…); }).
class Labels {
  constructor(node) {
    this.node = node;
  }

  draw(add) {
    this.used = 0;
    add();
    for (let i = this.used; i < this.node.children.length; i += 1) this.node.children[i].hidden = true;
  }

  add(text, place) {
    const node = this.node.children[this.used] ?? this.node.appendChild(el('span'));
    this.used += 1;
    node.hidden = false;
    setText(node, text);
    node.style.transform = place;
    return node;
  }
}

function isGap(value) {
  return value === null || value === undefined || Number.isNaN(value);
}

function nice(most) {
  if (!(most > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 6, 10].map((part) => part * size).find((end) => end >= most);
}

/** The seconds from `from` to `to` over `width` pixels, and the time under the cursor. */
export class TimeAxis {
  constructor() {
    this.from = 0;
    this.to = 1;
    this.width = 1;
    this.cursor = null;   // seconds, under the pointer
    this.pinned = null;   // seconds, chosen
    this.clock = clock;   // how a time is shown
  }

  x(time) {
    return ((time - this.from) / (this.to - this.from)) * this.width;
  }

  time(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  /** The time that is looked at, or null: now. */
  at() {
    return this.cursor ?? this.pinned;
  }

  /** Round local times, far enough apart to be read. */
  ticks() {
    const span = this.to - this.from;
    const most = Math.max(1, Math.floor(this.width / (this.width < NARROW ? 0.75 * TICK_PIXELS : TICK_PIXELS)));
    const step = TICK_SECONDS.find((size) => span / size <= most) ?? 604800;
    const zone = new Date(this.to * 1000).getTimezoneOffset() * 60;
    const ticks = [];
    for (let t = Math.ceil((this.from - zone) / step) * step + zone; t <= this.to; t += step) {
      ticks.push({x: this.x(t), text: this.clock(t, step >= 43200 ? 'day' : step >= 60 ? 'short' : 'clock')});
    }
    return ticks;
  }
}

/** Rows in time: `times` and a column by each name, all of one length. */
export class Rows {
  constructor() {
    this.clear();
  }

  clear() {
    this.step = 1;
    this.times = [];
    this.columns = new Map();
  }

  /** What `…/series` answers; a row that is null, or a null in it, is a gap. */
  load({start, step_ms: step, columns, rows}) {
    this.step = step / 1000;
    this.times = rows.map((_, i) => start + i * this.step);
    this.columns = new Map(columns.map((name, c) => [name, rows.map((row) => (row ? row[c] : null))]));
  }

  /** One row at `time`: replaces the last where it is in the same step, else comes behind it. */
  add(time, names, row, keep) {
    const last = this.times.length - 1;
    const same = last >= 0 && time < this.times[last] + this.step;
    if (!same) this.times.push(last >= 0 ? this.times[last] + this.step * Math.floor((time - this.times[last]) / this.step) : time);
    names.forEach((name, c) => {
      if (!this.columns.has(name)) this.columns.set(name, new Array(Math.max(0, this.times.length - 1)).fill(null));
      const column = this.columns.get(name);
      if (same) column[last] = row[c];
      else column.push(row[c]);
    });
    const over = this.times.length - keep;
    if (over > 0) {
      this.times.splice(0, over);
      for (const column of this.columns.values()) column.splice(0, over);
    }
  }

  column(name) {
    return this.columns.get(name) ?? [];
  }

  /** The number of the first row that has seen what happened at `time`: of the last row where there is none, -1 before all. */
  after(time) {
    const before = this.index(time);
    return before < 0 || this.times[before] === time ? before : Math.min(before + 1, this.times.length - 1);
  }

  /** The number of the row in force at `time`, or -1. */
  index(time) {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function most(rows, values, first, last) {
  let top = 0;
  for (let i = first; i < last; i += 1) if (values[i] > top) top = values[i];
  return top;
}

// A path through the values; where some are missing it is interrupted.
function trace(ctx, p, values, stepped) {
  const {times, step} = p.rows;
  let before = null;
  ctx.beginPath();
  for (let i = p.first; i < p.last; i += 1) {
    const value = values[i];
    if (isGap(value) || (!value && p.options?.log)) {
      before = null;
      continue;
    }
    const x = p.axis.x(times[i]);
    const y = p.y(value);
    if (before === null || times[i] - times[i - 1] > 2.5 * step) {
      ctx.moveTo(x, y);
      ctx.lineTo(x + 1, y);
    } else {
      if (stepped) ctx.lineTo(x, before);
      ctx.lineTo(x, y);
    }
    before = y;
  }
  if (stepped && before !== null) ctx.lineTo(p.axis.x(Math.min(p.axis.to, times[p.last - 1] + step)), before);
}

function stroke(ctx, layer) {
  ctx.strokeStyle = color(layer.color);
  ctx.lineWidth = layer.width ?? 1.5;
  ctx.lineJoin = 'round';
  ctx.setLineDash(layer.dash ?? []);
  ctx.stroke();
  ctx.setLineDash([]);
}

// `clipped`: the scale does not grow for it. `quiet`: not drawn while all of it is 0. `peak(value)`: a scale of its own, with that text at the largest value.
function path(options, stepped) {
  return {...options, legend: options.dash ? 'dash' : 'line',
    most: (p) => (options.clipped || options.peak ? 0 : most(p.rows, p.rows.column(options.column), p.first, p.last)),
    draw(ctx, p) {
      const values = p.rows.column(options.column);
      const peak = options.peak ? most(p.rows, values, p.first, p.last) : 0;
      if (options.peak && !peak) return;
      if (options.quiet && !most(p.rows, values, p.first, p.last)) return;
      if (options.fill) area(ctx, p, [{values, color: options.fill}], stepped);
      const own = peak ? {axis: p.axis, rows: p.rows, first: p.first, last: p.last, y: (value) => (p.height - EDGE) * (1 - (OWN_PART * value) / peak)} : p;
      trace(ctx, own, values, stepped);
      stroke(ctx, options);
      if (peak) p.label(options.peak(peak), p.axis.x(p.rows.times[values.lastIndexOf(peak, p.last - 1)]) + 4, p.height * (1 - OWN_PART), options.color);
    }};
}

/** A line through a column. `options`: name, column, color, dash, width, fill (a colour), text(value), clipped, peak(value). */
export function line(options) {
  return path(options, false);
}

/** The same, where a value holds until the next one. */
export function steps(options) {
  return path(options, true);
}

function area(ctx, p, parts, stepped) {
  const {times, step} = p.rows;
  const base = new Float64Array(p.rows.times.length);
  for (const part of parts) {
    ctx.beginPath();
    for (let i = p.first; i < p.last; i += 1) {
      const top = p.y(base[i] + (part.values[i] ?? 0));
      const x = p.axis.x(times[i]);
      if (i === p.first) ctx.moveTo(x, p.y(base[i]));
      ctx.lineTo(x, top);
      if (stepped || i === p.last - 1) ctx.lineTo(p.axis.x(Math.min(p.axis.to, times[i] + step)), top);
    }
    for (let i = p.last - 1; i >= p.first; i -= 1) {
      const bottom = p.y(base[i]);
      if (stepped || i === p.last - 1) ctx.lineTo(p.axis.x(Math.min(p.axis.to, times[i] + step)), bottom);
      ctx.lineTo(p.axis.x(times[i]), bottom);
    }
    ctx.fillStyle = color(part.color);
    ctx.fill();
    for (let i = p.first; i < p.last; i += 1) base[i] += part.values[i] ?? 0;
  }
}

/** Columns on top of each other. `parts`: [{name, column, color}]. */
export function stack(parts) {
  return {parts: parts.map((part) => ({...part, legend: 'box'})),
    most(p) {
      let top = 0;
      const columns = parts.map((part) => p.rows.column(part.column));
      for (let i = p.first; i < p.last; i += 1) top = Math.max(top, columns.reduce((sum, column) => sum + (column[i] ?? 0), 0));
      return top;
    },
    draw(ctx, p) {
      area(ctx, p, parts.map((part) => ({color: part.color, values: p.rows.column(part.column)})), true);
    }};
}

/** Counts per bucket of latency, darker where more of the row's requests are. */
export function heat(options) {
  let canvas = null;
  return {...options, legend: 'heat',
    most: () => 0,
    draw(ctx, p) {
      const rows = p.rows.column(options.column);
      const wide = p.last - p.first;
      const tall = rows.find((row) => row)?.length ?? 0;
      if (wide < 1 || tall < 1) return;
      canvas ??= document.createElement('canvas');
      canvas.width = wide;
      canvas.height = tall;
      const pen = canvas.getContext('2d', {willReadFrequently: true});
      const image = pen.createImageData(wide, tall);
      const [red, green, blue] = color(options.color).match(/[\d.]+/g).map(Number);
      for (let i = 0; i < wide; i += 1) {
        const row = rows[p.first + i];
        const peak = row ? Math.max(...row) : 0;
        for (let k = 0; peak > 0 && k < tall; k += 1) {
          if (!row[k]) continue;
          const at = 4 * ((tall - 1 - k) * wide + i);
          image.data[at] = red;
          image.data[at + 1] = green;
          image.data[at + 2] = blue;
          image.data[at + 3] = 40 + 190 * (row[k] / peak) ** 0.7;
        }
      }
      pen.putImageData(image, 0, 0);
      const top = p.y(HEAT_BASE ** (tall - 1));
      const bottom = p.y(HEAT_BASE ** -1);
      const from = p.axis.x(p.rows.times[p.first]);
      const to = p.axis.x(p.rows.times[p.last - 1] + p.rows.step);
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(canvas, from, top, to - from, bottom - top);
    }};
}

/** Spans of time over the whole height. `spans()`: [{from, to}]. */
export function band({spans, color: name, label}) {
  return {most: () => 0,
    draw(ctx, p) {
      for (const span of spans()) {
        const from = Math.max(0, p.axis.x(span.from));
        const to = Math.min(p.axis.width, p.axis.x(span.to ?? p.axis.to));
        if (to <= from) continue;
        ctx.fillStyle = color(`${name}-band`);
        ctx.fillRect(from, 0, to - from, p.height);
        ctx.fillStyle = color(name);
        for (let y = 0; from > 0 && y < p.height; y += 4) ctx.fillRect(from, y, 1, 2);
        if (label) p.label(label, from + 3, 0, name);
      }
    }};
}

/** Moments: a line over the whole height, with a text. `moments()`: [{time, text}]. */
export function ticks({moments, color: name, label}) {
  return {most: () => 0,
    draw(ctx, p) {
      ctx.fillStyle = color(name);
      for (const moment of moments()) {
        const x = p.axis.x(moment.time);
        if (x < 0 || x > p.axis.width) continue;
        ctx.fillRect(x, 0, 1.5, p.height);
        if (label) p.label(moment.text, x + 4, 0, name);
      }
    }};
}

/** Diamonds that can be chosen. `points()`: [{time, value, filled, color}]. */
export function marks({points}) {
  return {most: () => 0, picks: points,
    draw(ctx, p) {
      for (const point of points()) {
        const x = p.axis.x(point.time);
        if (x < -6 || x > p.axis.width + 6) continue;
        const y = p.y(point.value);
        ctx.beginPath();
        ctx.moveTo(x, y - 5);
        ctx.lineTo(x + 5, y);
        ctx.lineTo(x, y + 5);
        ctx.lineTo(x - 5, y);
        ctx.closePath();
        ctx.fillStyle = color(point.filled ? point.color : 'card');
        ctx.fill();
        ctx.strokeStyle = color(point.filled ? point.color : 'text');
        ctx.lineWidth = 1;
        ctx.stroke();
      }
    }};
}

function legendOf(layers) {
  const named = layers.flatMap((layer) => layer.parts ?? (layer.name ? [layer] : []));
  return [...named.filter((layer) => !layer.dash), ...named.filter((layer) => layer.dash)].map((layer) => {
    const value = el('span.value');
    const swatch = el('span.swatch', {'data-legend': layer.legend, 'aria-hidden': 'true'});
    swatch.style.color = `var(--${layer.color})`;
    const node = el('span.legend', {}, swatch, layer.name, value);
    return {layer, node, value};
  });
}

/** One panel of a Chart. `options`: title, unit, height, log, floor (least top of a linear scale), ticks (of a log scale), layers. */
class Panel {
  constructor(chart, options) {
    this.axis = chart.axis;
    this.rows = chart.rows;
    this.options = options;
    this.height = options.height;
    this.top = 1;
    this.bottom = 0;
    this.canvas = el('canvas', {'aria-hidden': 'true'});
    this.cursor = el('div.cursor', {hidden: true});
    this.marks = new Labels(el('div.plot-labels', {'aria-hidden': 'true'}));
    this.scale = new Labels(el('div.scale', {'aria-hidden': 'true'}));
    this.note = el('span.unit', {}, options.note ?? '');
    this.legend = legendOf(options.layers);
    this.plot = el('div.plot', {role: 'img'}, this.canvas, this.marks.node, this.cursor);
    this.plot.style.height = `${options.height}px`;
    this.scale.node.style.height = `${options.height}px`;
    this.node = el('figure.panel', {'data-panel': options.title},
      el('figcaption', {}, el('b', {}, options.title), this.legend.map((item) => item.node),
        this.note),
      el('div.panel-body', {}, this.scale.node, this.plot));
  }

  y(value) {
    const scaled = this.options.log ? (number) => Math.log(Math.max(number, 1e-3)) : (number) => number;
    const low = scaled(this.bottom);
    return this.height - EDGE - ((scaled(value) - low) / (scaled(this.top) - low)) * (this.height - 2 * EDGE);
  }

  /** A text in the plot, from the left end of the room for it. */
  label(text, x, y, name) {
    const left = this.axis.width - x < 90;
    this.marks.add(text, left ? `translate(${x - 8}px, ${y}px) translateX(-100%)` : `translate(${x}px, ${y}px)`).style.color = `var(--${name})`;
  }

  measure() {
    this.first = Math.max(0, this.rows.index(this.axis.from));
    this.last = this.rows.index(this.axis.to) + 1;
    if (this.options.log) {
      let low = Infinity;
      let high = 0;
      for (const name of this.options.log) {
        const values = this.rows.column(name);
        for (let i = this.first; i < this.last; i += 1) {
          if (values[i] > 0 && values[i] < low) low = values[i];
          if (values[i] > high) high = values[i];
        }
      }
      if (high === 0) [low, high] = [10, 300];
      const ends = this.options.ticks ?? LOG_TICKS;
      this.bottom = ends.filter((tick) => tick <= low / 1.5).pop() ?? 0.3;
      this.top = ends.find((tick) => tick >= high * 1.5) ?? 30000;
      return ends.filter((tick) => tick >= this.bottom && tick <= this.top);
    }
    const top = Math.max(this.options.floor ?? 0, ...this.options.layers.map((layer) => layer.most(this)));
    this.top = nice(top);
    return [0, this.top / 2, this.top];
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const wide = Math.round(this.axis.width * ratio);
    const tall = Math.round(this.height * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== tall) {
      this.canvas.width = wide;
      this.canvas.height = tall;
    }
    const ctx = this.canvas.getContext('2d');
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, this.axis.width, this.height);
    const values = this.measure();
    this.grid(ctx, values);
    this.marks.draw(() => this.options.layers.forEach((layer) => layer.draw(ctx, this)));
  }

  grid(ctx, values) {
    ctx.fillStyle = color('grid');
    for (const tick of this.axis.ticks()) ctx.fillRect(tick.x, 0, 1, this.height);
    this.scale.draw(() => values.forEach((value) => {
      const y = this.y(value);
      ctx.fillRect(0, y, this.axis.width, 1);
      this.scale.add(this.options.log && value >= 1000 ? `${value / 1000} s` : this.options.text(value), `translateY(${y}px) translateY(-50%)`);
    }));
  }

  /** The cursor and the values below it; null: none. */
  point(time) {
    this.cursor.hidden = time === null || time < this.axis.from || time > this.axis.to;
    if (!this.cursor.hidden) this.cursor.style.transform = `translateX(${this.axis.x(time)}px)`;
    const i = time === null ? -1 : this.axis.cursor === null ? this.rows.after(time) : this.rows.index(time);
    for (const {layer, value} of this.legend) {
      const shown = i < 0 || !layer.column || layer.legend === 'heat' ? '' : this.textOf(layer, i);
      setText(value, shown);
    }
  }

  textOf(layer, i) {
    const value = this.rows.column(layer.column)[i];
    return isGap(value) ? '\u2013' : (layer.text ?? ((number) => String(number)))(value);
  }

  summary() {
    const last = this.rows.times.length - 1;
    const parts = this.legend.filter(({layer}) => layer.column && layer.legend !== 'heat').map(({layer}) => {
      const top = most(this.rows, this.rows.column(layer.column), Math.max(0, this.first ?? 0), last + 1);
      return `${layer.name} ${last < 0 ? 'not known' : this.textOf(layer, last)}, at most ${(layer.text ?? String)(top)}`;
    });
    return `${this.options.title}: ${parts.join('; ')}`;
  }

  /** The mark nearest to a point of the plot, or null. */
  pick(x, y) {
    const near = this.options.layers.flatMap((layer) => (layer.picks ? layer.picks() : []))
      .map((point) => ({point, far: Math.hypot(this.axis.x(point.time) - x, this.y(point.value) - y)}))
      .sort((a, b) => a.far - b.far)[0];
    return near && near.far <= PICK_PIXELS ? near.point : null;
  }
}

/** Panels on one axis. `onpick(time, point)` is called for a click: `point` is the mark below it, or null. */
export class Chart {
  constructor({panels, onpick}) {
    this.axis = new TimeAxis();
    this.rows = new Rows();
    this.onpick = onpick;
    this.panels = panels.map((options) => new Panel(this, options));
    this.times = new Labels(el('div.times-labels'));
    this.here = el('span.here', {hidden: true});
    this.values = el('div.values', {hidden: true, tabindex: '0', role: 'region', 'aria-label': 'Values of the charts'});
    this.node = el('div.chart', {}, this.panels.map((panel) => panel.node), el('div.times-row', {'aria-hidden': 'true'}, el('div.times', {}, this.times.node, this.here)), this.values);
    for (const panel of this.panels) this.listen(panel);
    this.size = new ResizeObserver(() => this.fit());
    this.size.observe(this.panels[0].plot);
  }

  close() {
    this.size.disconnect();
  }

  listen(panel) {
    const at = (event) => event.clientX - panel.plot.getBoundingClientRect().left;
    panel.plot.addEventListener('pointermove', (event) => this.point(this.axis.time(at(event))));
    panel.plot.addEventListener('pointerleave', () => this.point(null));
    panel.plot.addEventListener('click', (event) => {
      const y = event.clientY - panel.plot.getBoundingClientRect().top;
      const mark = panel.pick(at(event), y);
      this.onpick(mark ? mark.time : this.axis.time(at(event)), mark);
    });
  }

  fit() {
    const width = this.panels[0].plot.clientWidth;
    if (width > 0 && width !== this.axis.width) {
      this.axis.width = width;
      this.draw();
    }
  }

  point(time) {
    this.axis.cursor = time;
    this.showCursor();
  }

  pin(time) {
    this.axis.pinned = time;
    this.showCursor();
  }

  showCursor() {
    const time = this.axis.at();
    for (const panel of this.panels) panel.point(time);
    this.here.hidden = time === null || time < this.axis.from || time > this.axis.to;
    if (this.here.hidden) return;
    setText(this.here, this.axis.clock(time));
    const x = Math.min(Math.max(this.axis.x(time), 30), this.axis.width - 30);
    this.here.style.transform = `translateX(${x}px) translateX(-50%)`;
  }

  draw() {
    if (this.axis.width <= 1) return;
    for (const panel of this.panels) panel.draw();
    this.times.draw(() => {
      for (const {x, text} of this.axis.ticks()) if (x > 24 && x < this.axis.width - 24) this.times.add(text, `translateX(${x}px) translateX(-50%)`);
    });
    this.showCursor();
  }

  /** What a reader without the pictures gets; the table as well, while it is open. */
  describe() {
    for (const panel of this.panels) panel.plot.setAttribute('aria-label', panel.summary());
    if (!this.values.hidden) this.tabulate();
  }

  toggleValues() {
    this.values.hidden = !this.values.hidden;
    if (this.values.hidden) return;
    this.tabulate();
    this.values.focus();
  }

  tabulate() {
    const columns = this.panels.flatMap((panel) => panel.legend.filter(({layer}) => layer.column && layer.legend !== 'heat')
      .map(({layer}) => ({panel, layer})));
    const {times} = this.rows;
    const first = Math.max(0, this.rows.index(this.axis.from));
    const step = Math.max(1, Math.ceil((times.length - first) / TABLE_ROWS));
    const body = el('tbody');
    for (let i = times.length - 1; i >= first; i -= step) {
      body.append(el('tr', {}, el('th', {scope: 'row'}, this.axis.clock(times[i])), columns.map(({panel, layer}) => el('td', {}, panel.textOf(layer, i)))));
    }
    fill(this.values, el('table', {}, el('caption.unseen', {}, 'Values of the charts, the newest first'),
      el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Time'), columns.map(({layer}) => el('th', {scope: 'col'}, layer.name)))), body));
  }
}

/** A small line without axes: `points` are numbers or null, the oldest first. */
export function spark(canvas, points, name = 'ready') {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth || 52, canvas.clientHeight || 22];
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  if (!points || points.length < 2) return;
  const top = Math.max(1e-9, ...points.map((point) => point ?? 0));
  const to = points.length - 1;
  const plot = {first: 0, last: to + 1, rows: {times: points.map((_, i) => i), step: 1}, axis: {to, x: (i) => (i / to) * width},
    y: (value) => height - 1.5 - (value / top) * (height - 4)};
  area(ctx, plot, [{values: points, color: `${name}-fill`}]);
  trace(ctx, plot, points);
  stroke(ctx, {color: name, width: 1.4});
}

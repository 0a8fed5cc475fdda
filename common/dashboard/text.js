// How texts, numbers, times and states are shown, and the one way to make elements: text is only ever text.

const TEXT_MAX = 200;
// Direction and invisible characters: they can make a text look like another one.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

function shownCharacter(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/** Text of an address, or as it stands where it is no escaped text. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A text that others wrote, as it may be shown: nothing hidden in it, at most 200 characters. */
export function clean(value, most = TEXT_MAX) {
  const text = String(value ?? '');
  const cut = text.length > most ? [...text.slice(0, 2 * most + 2)] : null;
  const kept = cut && cut.length > most ? `${cut.slice(0, most - 1).join('')}\u2026` : text;
  return kept.replace(HIDDEN, shownCharacter);
}

/** JSON whose texts, whoever wrote them, are clean from here on. */
export function parse(text) {
  return JSON.parse(text, (_, value) => (typeof value === 'string' ? clean(value) : value));
}

/** An element: `el('p.note', {title: 'x'}, 'text', child)`; `onclick` and the like are listeners. */
export function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Sets the text of a node if it is another one: an unchanged node costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows parts of a line, which breaks between them alone. */
export function setParts(node, parts) {
  const key = parts.join();
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  fill(node, parts.filter(Boolean).map((part, i) => [i ? ' ' : '', el('span.part', {}, part)]));
}

/** Replaces the children of a node. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const NONE = '\u2013';

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

/** A whole number with narrow spaces between thousands, or a dash where it is not known. */
export function whole(value) {
  if (!isNumber(value)) return NONE;
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** A rate or an average: one decimal below 100. */
export function figure(value) {
  if (!isNumber(value)) return NONE;
  return Math.abs(value) < 100 && !Number.isInteger(value) ? value.toFixed(1) : whole(value);
}

/** An average that always has one decimal, as in formulas. */
export function tenths(value) {
  return isNumber(value) ? (Math.abs(value) < 1000 ? value.toFixed(1) : whole(value)) : NONE;
}

/** 0, as of a quantile without requests, is a dash. */
export function milliseconds(value) {
  if (!isNumber(value) || !value) return NONE;
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 10 || Number.isInteger(value)) return `${whole(value)} ms`;
  return `${value.toFixed(1)} ms`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(value) {
  if (!isNumber(value)) return NONE;
  let unit = 0;
  let amount = value;
  while (Math.abs(amount) >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit > 2 && Math.abs(amount) < 100 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[unit]}`;
}

/** `6.1 of 7.6 GiB`: a part and its whole. */
export function ofBytes(part, all) {
  const [amount, unit] = bytes(part).split(' ');
  return `${unit && bytes(all).endsWith(` ${unit}`) ? amount : bytes(part)} of ${bytes(all)}`;
}

/** A length of time in at most two parts: `42 s`, `3 min 10 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([size]) => s >= size);
  if (first < 0) return '0 s';
  const [size, unit] = parts[first];
  const rest = parts[first + 1];
  const next = rest ? Math.floor((s % size) / rest[0]) : 0;
  return `${Math.floor(s / size)} ${unit}${next ? ` ${next} ${rest[1]}` : ''}`;
}

/** `m:ss`, for what began a moment ago. */
export function minutes(seconds) {
  if (!isNumber(seconds)) return NONE;
  const s = Math.max(0, Math.round(seconds));
  return s < 3600 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}` : duration(s);
}

/** Seconds since 1970 of a number or an RFC 3339 text; NaN for anything else. */
export function seconds(time) {
  return typeof time === 'number' ? time : Date.parse(time ?? '') / 1000;
}

const CLOCK = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const SHORT = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit'});
const DAY = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short'});

/** Local time of day; `parts` is `clock` (with seconds), `short` (without) or `day` (with the date). */
export function clock(at, parts = 'clock') {
  if (!Number.isFinite(at)) return NONE;
  const date = new Date(at * 1000);
  if (parts === 'short') return SHORT.format(date);
  return parts === 'day' ? `${DAY.format(date)} ${SHORT.format(date)}` : CLOCK.format(date);
}

/** A time in the page: local, with UTC on hover. A time of another day has its date. */
export function timeOf(at) {
  if (!Number.isFinite(at)) return el('span', {}, NONE);
  const far = Math.abs(Date.now() / 1000 - at) > 20 * 3600;
  const utc = new Date(at * 1000).toISOString();
  return el('time', {datetime: utc, title: `${utc.replace('T', ' ').slice(0, 19)} UTC`}, clock(at, far ? 'day' : 'clock'));
}

/** `1 replica`, `2 replicas`. */
export function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** The name of a service, with its namespace where that is another than `default`. */
export function nameOf({namespace, name}) {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

/** The address of its page. */
export function hrefOf({namespace = 'default', name}) {
  return `#/s/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** A link only where it leads to http or https; else its text. */
export function link(url, text = url) {
  if (!/^https?:\/\/[^\s"'<>\\]+$/i.test(url)) return el('span', {}, text);
  return el('a', {href: url, rel: 'noreferrer noopener', target: '_blank'}, text);
}

// The states of a service and of a replica: a shape and a word for each, never a colour alone.
// [shape, rank in a list]
const STATES = {failing: ['\u2715', 0], exited: ['\u2715', 0], panic: ['\u25b2', 1], warning: ['\u25b2', 1], memory: ['\u25c6', 2], starting: ['\u25d0', 3], awake: ['\u25cf', 4], ready: ['\u25cf', 4],
  decision: ['\u25c7', 4], cold_start: ['\u2502', 4], draining: ['\u25d1', 5], asleep: ['\u25cb', 6], stopped: ['\u25cb', 6], unknown: ['\u25cc', 7]};

/** What is shown of a row: its trouble before its state. */
export function kindOf(row) {
  const kind = row.trouble || (row.mode === 'panic' ? 'panic' : row.state);
  return Object.hasOwn(STATES, kind) ? kind : 'unknown';
}

export function rankOf(row) {
  return STATES[kindOf(row)][1];
}

export function wordOf(kind) {
  return kind.replace('_', ' ');
}

export function isTrouble(row) {
  return rankOf(row) < 3;
}

/** Sets the shape of a node made by shapeOf(). */
export function setShape(node, kind) {
  if (node.dataset.kind === kind) return;
  node.dataset.kind = kind;
  node.textContent = STATES[Object.hasOwn(STATES, kind) ? kind : 'unknown'][0];
}

/** The shape of a kind; `alone`: with its word for a reader that does not see it. */
export function shapeOf(kind, alone = false) {
  const node = el('span.shape', {'aria-hidden': 'true'});
  setShape(node, kind);
  return alone ? [node, el('span.unseen', {}, wordOf(kind))] : node;
}

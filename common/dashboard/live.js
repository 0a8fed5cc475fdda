// Requests to the API beside the page, and its stream of events, which is read with fetch: EventSource sends no token and hides why
// it failed. The token of the start is in this module's memory and nowhere else.

import {clean, decoded, parse} from './text.js';

const ROOT = 'api/v1/';
const WAIT_MS = 10000;
const LINES_MAX = 20;
/** `type` of a Problem: the engine answers other hosts, and then nothing without the token. */
export const NEEDS_TOKEN = 'token-required';
let token = '';
let refused = false;
let start = '';  // of the engine, by its time, that the token is for; '': not known yet

/** An answer that is an error: `status` (0: none came), `message`, `fix`, `type`. */
export class Problem extends Error {
  constructor(status, message, fix = '', type = '') {
    super(message);
    Object.assign(this, {status, fix, type});
  }
}

export function hasToken() {
  return token !== '';
}

export function setToken(text) {
  const match = /^\s*(?:Sluice-Edit:\s*)?([\x21-\x7e]{16,4096})\s*$/i.exec(text);
  if (match) [token, refused, start] = [match[1], false, ''];
  return Boolean(match);
}

/** The token is of another start, or was never right. */
function dropToken() {
  refused ||= hasToken();
  token = '';
}

/** True after a token that was refused, until another one is given. */
export function tokenRefused() {
  return refused;
}

/** What was given before the engine began at `started` is no longer its token. */
export function ofStart(started) {
  if (start && start !== started) dropToken();
  start = started ?? '';
}

/** Takes the token out of the address, `#token=…` or `#/…?token=…`, so that no history keeps it. */
export function takeToken() {
  const match = /([#?&])token=([^&]*)&?/.exec(location.hash);
  if (!match) return;
  setToken(decoded(match[2]));
  const before = location.hash.slice(0, match.index);
  const after = location.hash.slice(match.index + match[0].length);
  const rest = after ? before + match[1] + after : before;
  history.replaceState(null, '', rest.startsWith('#/') ? rest : '#/');
}

export function pathOf(space, name, rest = '') {
  return `services/${encodeURIComponent(space)}/${encodeURIComponent(name)}${rest}`;
}

/** The answer to a request; throws a Problem unless it is a good one. */
export async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(ROOT + path, {cache: 'no-store', signal: AbortSignal.timeout(WAIT_MS), ...options,
      headers: token ? {'Sluice-Edit': token, ...options.headers} : options.headers});
  } catch (error) {
    throw new Problem(0, error.name === 'TimeoutError' ? 'no answer within 10 s' : 'no connection');
  }
  if (answer.ok) return answer;
  let words = {};
  try {
    words = parse(await answer.text());
  } catch {
    // Another program may answer here, in its own words.
  }
  throw new Problem(answer.status, clean(words.detail ?? words.title ?? `HTTP ${answer.status}`), clean(words.fix ?? ''), clean(words.type ?? ''));
}

/** The JSON of a path; throws a Problem. */
export async function get(path) {
  const answer = await ask(path);
  try {
    return parse(await answer.text());
  } catch {
    throw new Problem(answer.status, 'an answer that is not JSON');
  }
}

/** The same, but null where the path is none or not permitted. Without the token that everything needs, nothing is known: a Problem. */
export async function getOrNull(path) {
  try {
    return await get(path);
  } catch (problem) {
    if (problem.status >= 400 && problem.status < 500 && problem.type !== NEEDS_TOKEN) return null;
    throw problem;
  }
}

/** The last lines of a text. */
export async function lines(path) {
  const text = await (await ask(path)).text();
  return text.split('\n').filter(Boolean).slice(-LINES_MAX).map((line) => clean(line));
}

export async function post(path, body) {
  const answer = await ask(path, {method: 'POST', body: body === undefined ? '' : JSON.stringify(body),
    headers: body === undefined ? {} : {'Content-Type': 'application/json'}}).catch((problem) => {
    if (problem.type !== NEEDS_TOKEN) throw problem;
    dropToken();
    throw new Problem(403, 'The token is wrong, or of an earlier start', 'cancel, choose \u201cwrong token\u201d above and give the new one');
  });
  return parse(await answer.text() || 'null');
}

/** Hands the answer to the browser as a file to save. */
export async function save(path, name) {
  const url = URL.createObjectURL(await (await ask(path)).blob());
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}

/** All items of a list, page by page, at most `most`; `more` is true where there are others. */
export async function list(path, most) {
  const items = [];
  let next = '';
  do {
    const page = await get(`${path}&limit=100${next ? `&next=${encodeURIComponent(next)}` : ''}`);
    items.push(...(page.items ?? []));
    next = page.next ?? '';
  } while (next && items.length < most);
  return {items, more: Boolean(next)};
}

const RETRY_MS = [500, 1000, 2000, 5000];
const SILENCE_MS = 10000;
const LINE_MAX = 1 << 20;

/** Server-sent events out of text that comes in pieces. */
export class EventText {
  constructor() {
    this.rest = '';
    this.event = {id: '', type: '', data: ''};
  }

  /** The events that are whole with this piece: [{id, type, data}]. */
  feed(piece) {
    const ends = (this.rest + piece).split('\n');
    this.rest = ends.pop();
    if (this.rest.length > LINE_MAX) throw new Error('a line of the stream is too long');
    const whole = [];
    for (const end of ends) {
      const line = end.endsWith('\r') ? end.slice(0, -1) : end;
      if (line === '') {
        if (this.event.data !== '') whole.push(this.event);
        this.event = {id: '', type: '', data: ''};
      } else if (!line.startsWith(':')) {
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'data') this.event.data += value;
        else if (name === 'event') this.event.type = value;
        else if (name === 'id') this.event.id = value;
      }
    }
    return whole;
  }
}

/**
 * One stream that is opened again whenever it ends. `on(type, data)` gets each event; `down(problem)` why there is
 * none. A hidden page has none: browsers allow few connections to one host.
 */
export class Live {
  constructor({path, on, down}) {
    this.path = path;
    this.on = on;
    this.down = down;
    this.last = '';
    this.tries = 0;
    this.at = performance.now();  // of the last event
    this.shown = () => this.restart();
    document.addEventListener('visibilitychange', this.shown);
    this.watch = setInterval(() => this.judge(), 1000);
    this.restart();
  }

  /** Seconds since the last event. */
  age() {
    return (performance.now() - this.at) / 1000;
  }

  /** Other rows or another filter: a stream of another address. */
  move(path) {
    if (path === this.path) return;
    this.path = path;
    this.restart();
  }

  close() {
    clearInterval(this.watch);
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.shown);
    this.closed = true;
    this.stop?.abort();
  }

  restart() {
    clearTimeout(this.timer);
    this.stop?.abort();
    this.began = performance.now();
    if (!this.closed && !document.hidden) this.read();
  }

  // A stream that is open and silent, as of a stopped engine, is as good as none.
  judge() {
    const quiet = performance.now() - Math.max(this.at, this.began);
    if (document.hidden || this.closed || quiet < SILENCE_MS || this.waiting) return;
    this.down({status: 0, message: 'no event for 10 s'});
    this.restart();
  }

  async read() {
    const stop = new AbortController();
    this.stop = stop;
    let problem = {status: 0, message: 'the stream ended'};
    try {
      this.waiting = true;
      const resume = this.last ? {'Last-Event-ID': this.last} : {};
      const limit = setTimeout(() => stop.abort(), SILENCE_MS);
      const answer = await ask(this.path, {signal: stop.signal, headers: {Accept: 'text/event-stream', ...resume}});
      clearTimeout(limit);
      this.waiting = false;
      await this.take(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      problem = error;
    }
    this.waiting = false;
    if (this.stop !== stop || this.closed || document.hidden) return;
    this.down(problem);
    this.timer = setTimeout(() => this.restart(), RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)]);
    this.tries += 1;
  }

  async take(reader) {
    const text = new EventText();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      for (const event of text.feed(value)) {
        this.at = performance.now();
        this.tries = 0;
        if (event.id) this.last = event.id;
        this.on(event.type || 'message', parse(event.data));
      }
    }
  }
}

// The frame: what is always there, which address shows what, keys, and when something is drawn.

import {Live, NEEDS_TOKEN, Problem, getOrNull, hasToken, ofStart, pathOf, save, setToken, takeToken, tokenRefused} from './live.js';
import {Tiles} from './cards.js';
import {forgetColors} from './chart.js';
import {dialog} from './edit.js';
import {MemoryView} from './memory.js';
import {Places, PlacesCard} from './places.js';
import {RANGES, ServiceView} from './service.js';
import {Fleet, FleetView} from './table.js';
import {clean, clock, decoded, duration, el, fill, hrefOf, seconds, setText} from './text.js';

const AMBER_S = 3;
const RED_S = 10;
const OVERVIEW_MS = 2000;
const LIST_MS = 10000;
const LONG_LIST = 200;       // services; a longer list is read every sixth time
const SPEAK_MS = 2000;
const MOVE_MS = 400;
const MEASURED = 240;
const RANGE_NAMES = {'5m': '5 min', '15m': '15 min', '1h': '1 h', '6h': '6 h', '7d': '7 d'};
const THEMES = {system: ['\u25d0', 'as the system'], light: ['\u25cb', 'light'], dark: ['\u25cf', 'dark']};
const KEYS = [['/', 'filter the services'], ['\u2191 \u2193', 'from service to service'], ['Enter', 'open it'], ['\u2190 \u2192', 'from decision to decision'], ['t', 'values of the charts as a table'],
  ['p', 'pause'], ['m', 'memory'], ['Esc', 'back to now, then to all services'], ['?', 'these keys']];

const $ = (id) => document.getElementById(id);

// A browser may refuse to store anything; a theme then lasts as long as the page.
function stored(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** `#/s/NS/NAME?range=1h&at=TIME` as {view, space, name, range, at}. */
export function routeOf(hash) {
  const [path, query = ''] = hash.replace(/^#/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decoded);
  const asked = new URLSearchParams(query);
  const at = seconds(asked.get('at') ?? '');
  const range = Object.hasOwn(RANGES, asked.get('range') ?? '') ? asked.get('range') : '5m';
  const route = {view: 'fleet', range, at: Number.isFinite(at) ? at : null};
  if (parts[0] === 's' && parts.length === 3) return {...route, view: 'service', space: parts[1], name: parts[2]};
  return parts[0] === 'memory' ? {...route, view: 'memory'} : route;
}

export function hashOf({view, space, name, range, at}) {
  const path = view === 'service' ? hrefOf({namespace: space, name}) : view === 'memory' ? '#/memory' : '#/';
  const query = new URLSearchParams();
  if (range !== '5m') query.set('range', range);
  if (at !== null && at !== undefined) query.set('at', new Date(at * 1000).toISOString());
  return query.size ? `${path}?${query}` : path;
}

class App {
  constructor() {
    this.route = routeOf('#/');
    this.overview = null;
    this.offset = 0;        // seconds that the engine's clock is ahead of ours
    this.paused = false;
    this.fleet = new Fleet();
    this.places = new Places();
    this.tiles = new Tiles($('tiles'));
    this.spoken = 0;
    this.measures = 0;
    this.frame();
    window.addEventListener('hashchange', () => this.go());
    document.addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('visibilitychange', () => this.tick());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
    setInterval(() => this.tick(), 1000);
    setInterval(() => this.poll(), OVERVIEW_MS);
    setInterval(() => this.relist(), LIST_MS);
    this.go();
  }

  // ---- What views ask ----

  /** The overview, once there is one; without members where there is none. */
  async known() {
    return this.overview ?? await getOrNull('overview') ?? {};
  }

  now() {
    return Date.now() / 1000 + this.offset;
  }

  range() {
    return this.route.range;
  }

  canEdit() {
    return Boolean(this.overview?.edit) && hasToken();
  }

  frozen() {
    return this.paused || this.stale;
  }

  /** At most one text in two seconds, the newest. */
  speak(text) {
    this.toSpeak = text;
    const wait = Math.max(0, this.spoken + SPEAK_MS - performance.now());
    this.speaking ??= setTimeout(() => {
      this.speaking = null;
      this.spoken = performance.now();
      setText($('spoken'), this.toSpeak);
    }, wait);
  }

  onchoose(time) {
    this.route.at = time;
    history.replaceState(null, '', hashOf(this.route));
  }

  // ---- Addresses ----

  go() {
    takeToken();
    const route = routeOf(location.hash);
    const same = ['view', 'space', 'name'].every((part) => route[part] === this.route[part]);
    const before = this.route;
    this.route = route;
    this.showRanges();
    if (same && this.view) {
      if (route.range !== before.range) this.load();
      else if (route.view === 'service' && route.at !== this.view.at) this.view.look(route.at);
      return;
    }
    this.view?.close();
    this.side?.close();
    this.side = null;
    this.loaded = false;
    this.build();
    this.connect();
    document.title = route.view === 'service' ? `${clean(route.name)} \u00b7 Sluice` : route.view === 'memory' ? 'Memory \u00b7 Sluice' : 'Sluice';
    if (before.view !== route.view || before.name !== route.name) window.scrollTo(0, 0);
  }

  build() {
    const {view, space, name, at} = this.route;
    const list = (options) => new FleetView({fleet: this.fleet, places: this.places, theme: () => this.styled, form: () => this.overview?.form, ...options});
    $('record').hidden = view !== 'service';
    $('main').dataset.view = view;
    this.placesCard = view === 'service' ? null : new PlacesCard(this);
    if (view === 'fleet') {
      this.view = list({narrow: false, onrows: (keys) => this.watchRows(keys)});
      fill($('main'), el('h1.unseen', {}, 'Services'), this.placesCard.node, this.view.node);
      this.placesCard.node.classList.add('fleet-places');
    } else if (view === 'memory') {
      this.view = new MemoryView({app: this});
      fill($('main'), this.view.node);
    } else {
      this.side = list({narrow: true, chosen: `${space}/${name}`});
      this.view = new ServiceView({space: clean(space), name: clean(name), app: this, at});
      fill($('main'), this.side.node, this.view.node);
    }
    this.list = view === 'fleet' ? this.view : this.side;
    this.list?.show();
  }

  // ---- Data ----

  connect() {
    const {view, space, name} = this.route;
    this.rowsAsked = null;
    const path = view === 'service' ? `live?view=service&ns=${encodeURIComponent(space)}&name=${encodeURIComponent(name)}` : 'live?view=fleet';
    this.live?.close();
    this.live = new Live({path, on: (type, data) => this.event(type, data), down: (words) => this.down(words)});
  }

  // The stream carries the rows in view; the others come with the list.
  watchRows(keys) {
    const asked = keys.join(',');
    clearTimeout(this.moving);
    if (this.fleet.rows.size <= keys.length || asked === this.rowsAsked) return;
    this.moving = setTimeout(() => {
      if (this.route.view !== 'fleet') return;
      this.rowsAsked = asked;
      this.live.move(`live?view=fleet&rows=${encodeURIComponent(asked)}`);
    }, MOVE_MS);
  }

  event(type, data) {
    const {view} = this.route;
    if (type === 'move') {
      this.places.moved(data);
      this.placesCard?.show();
    }
    if (type === 'hello') this.hello(data);
    else if (type === 'reset') this.load();
    else if (view === 'fleet') this.fleetEvent(type, data);
    else this.view.event(type, data);
    if (type === 'error') this.notice(data.detail ?? data.message ?? 'error');
    this.schedule();
  }

  fleetEvent(type, data) {
    if (type !== 'fleet') return;
    if (data.overview) this.take({...this.overview, ...data.overview});
    this.measured(() => {
      if (this.frozen()) this.fleet.apply(data);
      else this.view.apply(data);
    });
  }

  // A move is shown at once; what it leaves and takes, and states of places, with the next reading.
  async readPlaces() {
    await this.places.load();
    this.placesCard?.show();
    this.list?.show();
  }

  hello(data) {
    this.locked = false;
    const other = this.overview?.version && data.version && this.overview.version !== data.version;
    if (data.time) this.offset = seconds(data.time) - Date.now() / 1000;
    if (other) this.notice(`The engine is another version now, ${data.version}: load this page again.`);
    else this.notice('');
    this.load();
  }

  // Why there is no stream; an engine without one still has figures.
  down(problem) {
    this.why = problem.message;
    if (problem.type === NEEDS_TOKEN) this.lock();
    else if (problem.status) this.notice(problem.message);
    if (problem.status === 404) this.view.explainSoon?.();
    if (problem.status && !this.loaded && !this.locked) this.load();
    this.tick();
  }

  /** Everything that is shown, again. */
  async load() {
    const {view} = this;
    this.loaded = true;
    const parts = await Promise.allSettled([getOrNull('overview').then((overview) => this.takeFirst(overview)), this.readPlaces(), this.list && this.fleet.load(), view !== this.list && view.load()]);
    if (view !== this.view) return;
    if (view.status && !view.node.isConnected) {
      this.empty.replaceWith(view.node);
      $('record').hidden = false;
    }
    this.list?.show();
    this.schedule();
    for (const {reason} of parts) if (reason) this.broken(reason);
  }

  // Asked once: who closes the dialog finds it behind the button of changes.
  lock() {
    if (this.locked) return;
    this.locked = true;
    this.notice(hasToken() ? 'The engine has another token: it is made anew at each start.' : 'This engine shows nothing without its token.');
    this.askToken();
  }

  takeFirst(overview) {
    if (overview) this.take(overview);
    else this.notice('This engine is older than the page: some figures are missing.');
  }

  broken(problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 404 && this.route.view === 'service') {
      this.gone();
    } else if (problem.status === 401 || problem.status === 403) {
      this.notice(`${problem.message}${problem.fix ? ` \u2013 ${problem.fix}` : ''}`);
    } else if (problem.status !== 0) {
      this.notice(problem.message);
    }
  }

  /** The service has been removed. It may be added again: its stream stays. */
  gone() {
    const {view, route: {space, name}} = this;
    if (!view.node.isConnected) return;
    view.status = null;
    this.fleet.apply({gone: [`${space}/${name}`]});
    this.list.show();
    $('record').hidden = true;
    this.empty = el('div.card.empty', {role: 'status'}, el('h2', {}, `There is no service ${clean(name)}`), el('p', {}, 'It was removed, or the address is wrong. ', el('a', {href: '#/'}, 'All services')));
    view.node.replaceWith(this.empty);
  }

  take(overview) {
    this.overview = overview;
    // A cluster keeps its token, an engine makes one at each start.
    if (overview.form === 'machine') ofStart(overview.started);
    if (overview.time) this.offset = seconds(overview.time) - Date.now() / 1000;
    const form = overview.form === 'cluster' ? 'cluster' : 'engine';
    const key = `${form} ${overview.name} ${overview.version}`;
    if (key !== this.named) {
      this.named = key;
      fill($('engine'), `${form} `, el('b', {}, overview.name ?? ''), el('span.wide', {}, `${overview.form === 'machine' ? ' \u00b7 one machine' : ''} \u00b7 ${overview.version ?? ''}`));
    }
    this.showEdit();
    this.schedule();
  }

  showEdit() {
    const can = this.canEdit();
    const {edit} = this.overview ?? {};
    setText($('edit'), can ? 'edits allowed' : !edit ? 'read-only' : tokenRefused() ? 'wrong token' : 'edits need a token');
    $('edit').title = can ? 'Changes can be made here' : edit ? 'Choose this to give the token of changes' : 'Started without --allow-edit';
  }

  // Beside one service, and beside memory, the tiles have no stream.
  async poll() {
    if (document.hidden || this.frozen()) return;
    if (this.places.known && this.placesCard) await this.readPlaces().catch(() => null);
    if (this.route.view === 'fleet') return;
    const overview = await getOrNull('overview').catch(() => null);
    if (overview) this.take(overview);
  }

  async relist() {
    this.lists = (this.lists ?? 0) + 1;
    if (document.hidden || this.frozen() || !this.list || (this.fleet.rows.size > LONG_LIST && this.lists % 6)) return;
    await this.fleet.load().catch(() => null);
    this.list?.show();
  }

  // ---- Drawing ----

  schedule() {
    this.later ||= requestAnimationFrame(() => {
      this.later = 0;
      if (!this.frozen()) this.measured(() => this.draw());
    });
  }

  measured(update) {
    const start = performance.now();
    update();
    performance.measure('update', {start});
    this.measures += 1;
    if (this.measures < MEASURED) return;
    performance.clearMeasures('update');
    this.measures = 0;
  }

  draw() {
    if (this.overview) this.tiles.show(this.overview);
    if (this.route.view !== 'service' || this.view.closed) return;
    this.view.showHead();
    this.view.draw();
  }

  tick() {
    const age = this.live.age();
    const state = age < AMBER_S ? 'live' : age < RED_S ? 'late' : 'off';
    const heard = this.overview !== null;
    this.stale = state === 'off' || !heard;
    document.body.classList.toggle('stale', this.stale);
    const live = $('live');
    if (live.dataset.state !== state && heard) this.speak(state === 'live' ? 'live' : state === 'off' ? 'no connection, reconnecting' : 'late');
    live.dataset.state = state;
    const ago = age < 1 ? 'now' : `${duration(Math.floor(age))} ago`;
    setText($('live-word'), this.paused ? `paused \u00b7 ${ago}` : state === 'off' ? `reconnecting \u00b7 ${ago}` : state === 'late' ? `last event ${ago}` : 'live');
    live.title = `The last event came ${ago}${state === 'off' && this.why ? `; ${this.why}` : ''}`;
    if (heard) this.showEdit();
    if (!this.stale) setText($('clock'), clock(this.now()));
    this.schedule();
  }

  notice(text) {
    setText($('notice'), clean(text));
    $('notice').hidden = !text;
  }

  // ---- Controls ----

  frame() {
    fill($('ranges'), Object.entries(RANGE_NAMES).map(([range, text]) => el('button', {type: 'button', 'data-range': range, onclick: () => {
      location.hash = hashOf({...this.route, range});
    }}, text)));
    $('pause').addEventListener('click', () => this.pause());
    $('theme').addEventListener('click', () => this.nextTheme());
    $('help').addEventListener('click', () => this.keys());
    $('edit').addEventListener('click', () => this.askToken());
    $('record').addEventListener('click', () => this.record());
    this.setTheme(stored(() => localStorage.getItem('sluice-theme')) ?? '');
  }

  showRanges() {
    for (const button of $('ranges').children) button.setAttribute('aria-pressed', String(button.dataset.range === this.route.range));
    $('ranges').hidden = this.route.view !== 'service';
  }

  pause() {
    this.paused = !this.paused;
    $('pause').setAttribute('aria-pressed', String(this.paused));
    setText($('pause'), this.paused ? 'Continue' : 'Pause');
    this.tick();
    if (!this.paused) this.list?.show();
  }

  setTheme(name) {
    this.theme = Object.hasOwn(THEMES, name) ? name : 'system';
    document.documentElement.dataset.theme = this.theme;
    const [shape, words] = THEMES[this.theme];
    setText($('theme'), shape);
    $('theme').title = `Theme: ${words}`;
    $('theme').setAttribute('aria-label', $('theme').title);
    this.restyle();
  }

  nextTheme() {
    const names = Object.keys(THEMES);
    this.setTheme(names[(names.indexOf(this.theme) + 1) % names.length]);
    stored(() => localStorage.setItem('sluice-theme', this.theme));
  }

  restyle() {
    this.styled = (this.styled ?? 0) + 1;
    forgetColors();
    this.tiles?.redraw(this.overview);
    this.list?.show();
    if (this.view?.draw) this.view.draw();
  }

  async record() {
    const {space, name} = this.route;
    try {
      await save(pathOf(space, name, '/recording?since=15m'), `${name}.sluice-recording.jsonl`);
    } catch (problem) {
      this.notice(`No recording: ${problem.message}`);
    }
  }

  askToken() {
    if (!this.locked && !this.overview?.edit) {
      dialog({title: 'Read-only', words: ['This page changes nothing: the engine was started without --allow-edit.']});
      return;
    }
    const token = el('input', {type: 'password', id: 'token', required: true, autocomplete: 'off'});
    const [title, button, need] = this.locked ? ['Token', 'Open', 'This engine answers other hosts, so it shows nothing without'] : ['Allow changes', 'Allow', 'Changes need'];
    dialog({title, button, words: [`${need} the token of this start, from the file edit-token beside the socket of the engine. It is kept in the memory of this page alone.`],
      form: el('div.fields', {}, el('label', {for: 'token'}, 'Token'), token),
      act: () => {
        if (!setToken(token.value)) throw new Problem(0, 'That is no token: 16 printable characters at least, without spaces.');
        if (!this.locked) {
          this.take(this.overview);
          return;
        }
        this.locked = false;
        this.notice('');
        this.live.restart();
      }});
  }

  keys() {
    dialog({title: 'Keys', words: [el('dl.keys', {}, KEYS.map(([key, text]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, text))))]});
  }

  key(event) {
    const typing = event.target.closest?.('input, select, textarea, dialog');
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape') || event.target.closest?.('dialog')) return;
    const service = this.route.view === 'service' ? this.view : null;
    const act = {'/': () => this.toFilter(), '?': () => this.keys(), p: () => this.pause(), m: () => this.open('#/memory'), Escape: () => this.back(typing),
      t: service && (() => service.chart.toggleValues()), ArrowLeft: service && (() => service.step(-1)), ArrowRight: service && (() => service.step(1))}[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  open(hash) {
    location.hash = hash;
  }

  toFilter() {
    if (!this.list) this.open('#/');
    this.list?.filter.focus();
    this.list?.filter.select();
  }

  back(typing) {
    if (typing) {
      if (this.list && this.list.filter === typing && typing.value) {
        typing.value = '';
        this.list.choose({text: ''});
      } else {
        typing.blur();
      }
    } else if (this.route.view === 'service' && this.view.at !== null) {
      this.view.look(null);
    } else {
      this.open('#/');
    }
  }
}

new App();

// Places of the machine (`groups` of the settings): what is where, what is left, what moves. Where no groups are configured, nothing
// of it is shown.

import {card} from './cards.js';
import {drainDialog} from './edit.js';
import {getOrNull} from './live.js';
import {bytes, count, el, figure, fill, hrefOf, nameOf, ofBytes, seconds, setText, shapeOf, timeOf, whole} from './text.js';
import {elsewhereText, movingText, moveText} from './why.js';

const MOVES_KEPT = 200;
const MOVES_SHOWN = 6;
const SERVICES_SHOWN = 8;
const SHAPES = {ready: 'ready', draining: 'draining', stale: 'unknown'};

/** What the engine says of its places and of the moves between them. */
export class Places {
  constructor() {
    this.items = [];
    this.moves = [];
    this.texts = new Map();  // NAMESPACE/NAME -> `fast 3, slow 1`
  }

  /** Whether groups are configured. */
  get known() {
    return this.items.length > 0;
  }

  async load() {
    const items = (await getOrNull('places'))?.items ?? [];
    // The place of a machine without groups has no `cores`.
    this.items = items.some((place) => place.cores !== undefined) ? items : [];
    this.moves = this.known ? (await getOrNull('moves'))?.items ?? [] : [];
    this.texts.clear();
    for (const {name, services} of this.items) {
      for (const each of services ?? []) {
        const key = `${each.namespace}/${each.name}`;
        this.texts.set(key, `${this.texts.has(key) ? `${this.texts.get(key)}, ` : ''}${name} ${whole(each.replicas)}`);
      }
    }
  }

  /** An event of a move. */
  moved(move) {
    const at = this.moves.findIndex(({id}) => id === move.id);
    if (at < 0) this.moves.unshift(move);
    else this.moves[at] = move;
    this.moves.length = Math.min(this.moves.length, MOVES_KEPT);
  }

  movesOf(service) {
    return this.moves.filter((move) => move.service === service);
  }
}

// A name, a bar and a text.
function meter(name) {
  const part = el('span.fill');
  const bar = el('span.bar', {'aria-hidden': 'true'}, part);
  const text = el('span');
  return {node: el('div.meter', {}, el('span.note', {}, name), bar, text),
    show(used, most, words) {
      bar.dataset.open = !(most > 0);
      part.style.width = most > 0 ? `${Math.min(100, (100 * used) / most)}%` : '0';
      bar.toggleAttribute('data-full', most > 0 && used >= most);
      setText(text, words);
    }};
}

function ofMost(most, show) {
  return most === null || most === undefined ? '' : ` of ${show(most)}`;
}

function coresOf(millicores) {
  return figure(Math.round(millicores / 10) / 100);
}

// One place; its elements stay while its figures change, so that the focus does.
class PlaceBox {
  constructor(app) {
    this.app = app;
    this.head = el('div.head-line');
    this.replicas = meter('Replicas');
    this.cpu = meter('CPU');
    this.memory = meter('Memory');
    this.services = el('p.note');
    this.node = el('li.place', {}, this.head, this.replicas.node, this.cpu.node, this.memory.node, this.services);
  }

  show(place) {
    const {name, state, used, capacity, drain} = place;
    const can = this.app.canEdit();
    const draining = state === 'draining';
    const key = `${name} ${state} ${place.preference} ${can}`;
    if (key !== this.key) {
      fill(this.head, shapeOf(SHAPES[state] ?? 'unknown', true), el('h3', {}, name), state === 'ready' ? null : el('span.pill', {}, state), el('span.note', {}, `preference ${whole(place.preference)}`), el('span.space'),
        can ? el('button', {type: 'button', onclick: () => drainDialog({place: this.place, done: () => this.app.readPlaces()})}, draining ? 'Open' : 'Drain') : null);
    }
    this.key = key;
    this.place = place;
    this.replicas.show(used.replicas, capacity.replicas, `${whole(used.replicas)}${ofMost(capacity.replicas, whole)}`);
    const cores = place.cores ? 1000 * place.cores : capacity.cpu_millicores;
    this.cpu.show(place.cpu_use_millicores, cores, `${coresOf(place.cpu_use_millicores)}${ofMost(cores, coresOf)} in use, ${coresOf(used.cpu_millicores)}${ofMost(capacity.cpu_millicores, coresOf)} claimed`);
    this.memory.show(used.memory_bytes, capacity.memory_bytes, `${capacity.memory_bytes === null ? bytes(used.memory_bytes) : ofBytes(used.memory_bytes, capacity.memory_bytes)} claimed`);
    this.showServices(place.services ?? [], drain);
  }

  showServices(services, drain) {
    const key = JSON.stringify([services, drain]);
    if (key === this.listed) return;
    this.listed = key;
    const more = services.length - SERVICES_SHOWN;
    fill(this.services, services.length ? services.slice(0, SERVICES_SHOWN).flatMap((each, i) => [i ? ', ' : '', el('a', {href: hrefOf(each)}, nameOf(each)), ` ${whole(each.replicas)}`]) : 'no replica',
      more > 0 ? `, and ${count(more, 'other')}` : '', (drain?.remaining ?? []).map((text) => [el('br'), `stays: ${text}`]));
  }
}

function moveRow(move) {
  const {kind, title, text} = moveText(move);
  return el('li', {}, timeOf(seconds(move.ended ?? move.began)), el('span.pick', {}, shapeOf(kind, true), el('b', {}, `${move.service} ${title}`), el('span.text', {}, text)));
}

/** All places, and the moves that run or ran last. */
export class PlacesCard {
  /** `app` gives canEdit(), readPlaces() and places. */
  constructor(app) {
    Object.assign(this, card('Places'), {app, boxes: new Map()});
    this.list = el('ul.places');
    this.moves = el('ol.events');
    this.body.append(this.list, this.moves);
    this.show();
  }

  show() {
    const {places} = this.app;
    this.node.hidden = !places.known;
    const names = places.items.map((place) => place.name);
    if (`${names}` !== this.names) fill(this.list, names.map((name) => this.box(name).node));
    this.names = `${names}`;
    for (const place of places.items) this.box(place.name).show(place);
    const run = places.moves.filter((move) => !move.over).length;
    setText(this.side, run ? `${count(run, 'move')} under way` : '');
    const shown = places.moves.slice(0, Math.max(run, MOVES_SHOWN));
    const key = JSON.stringify(shown);
    if (key !== this.moved) fill(this.moves, shown.map(moveRow));
    this.moved = key;
    this.moves.hidden = !shown.length;
  }

  box(name) {
    if (!this.boxes.has(name)) this.boxes.set(name, new PlaceBox(this.app));
    return this.boxes.get(name);
  }
}

/** Where the replicas of one service are, why not elsewhere, and whether they move. */
export class WhereCard {
  constructor() {
    Object.assign(this, card('Places'));
  }

  show(status, decision) {
    const shares = status.places ?? [];
    const key = JSON.stringify([shares, status.moving, decision?.moving, decision?.why_elsewhere, decision?.first_place]);
    if (key === this.key) return;
    this.key = key;
    const words = [movingText(status.moving ?? decision?.moving), elsewhereText(decision?.why_elsewhere),
      decision?.first_place && !shares.length ? `Its next start is in ${decision.first_place}.` : ''].filter(Boolean);
    this.node.hidden = !shares.length && !words.length;
    fill(this.body, shares.length ? el('table.reasons', {}, el('tbody', {}, shares.map((share) => el('tr', {}, el('th', {scope: 'row'}, share.name),
      el('td.number', {'data-short': share.ready < share.replicas}, `${whole(share.ready)} of ${whole(share.replicas)} ready`))))) : null, words.map((text) => el('p', {}, text)));
  }
}

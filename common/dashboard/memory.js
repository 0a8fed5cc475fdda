// The memory of the machine and its places, or the nodes of a cluster.

import {card, memoryBar, pressureOf} from './cards.js';
import {getOrNull} from './live.js';
import {bytes, count, el, figure, fill, hrefOf, ofBytes, seconds, shapeOf, timeOf, whole} from './text.js';
import {throttleSentence} from './why.js';

const MEMORY_MS = 2000;

function figures(pairs) {
  return el('dl.figures', {}, pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function machineCard(memory) {
  const parts = card('Memory of the machine', ofBytes(memory.used_bytes, memory.capacity_bytes));
  const growth = memory.growth_bytes_per_second;
  fill(parts.body, memoryBar(memory), figures([['Capacity', bytes(memory.capacity_bytes)], ['Used', bytes(memory.used_bytes)], ['By replicas', bytes(memory.replicas_bytes)],
    ['Kept in reserve', bytes(memory.reserve_bytes)], ['A new replica may have', bytes(memory.admit_bytes)],
    ['Growth', typeof growth === 'number' ? `${bytes(growth)}/s` : null], ['Pressure', el('span', {}, pressureOf(memory.pressure))],
    ['Waited for memory, 10 s', typeof memory.some_avg10 === 'number' ? `${figure(memory.some_avg10)} %` : null]]));
  return parts.node;
}

function throttledCard(entries) {
  const parts = card('Throttled and stopped', entries.length ? whole(entries.length) : '');
  if (!entries.length) {
    fill(parts.body, el('p.note', {}, 'No replica is throttled, none is stopped for memory.'));
    return parts.node;
  }
  fill(parts.body, el('ul.throttled', {}, entries.map((entry) => el('li', {}, shapeOf('memory', true), ' ',
    entry.service ? el('a', {href: hrefOf({namespace: entry.namespace, name: entry.service})}, entry.id ?? entry.service) : el('b', {}, entry.id), ` ${throttleSentence(entry)}`))));
  return parts.node;
}

const NODE_HEADS = ['Node', 'State', 'Used', 'A new replica may have', 'Throttled'];

function nodeRow(node) {
  const cells = [node.silent ? [shapeOf('failing'), ' silent, last report ', timeOf(seconds(node.heard))] : pressureOf(node.pressure), ofBytes(node.used_bytes, node.capacity_bytes), bytes(node.admit_bytes),
    whole(node.throttled_containers)];
  return el('tr', {'data-silent': node.silent}, el('th', {scope: 'row'}, node.name), cells.map((cell, i) => el(i ? 'td.number' : 'td', {'data-head': NODE_HEADS[i + 1]}, cell)));
}

function nodesCard(nodes) {
  const silent = nodes.filter((node) => node.silent).length;
  const parts = card('Nodes', `${count(nodes.length, 'node')}${silent ? `, ${whole(silent)} silent` : ''}`);
  fill(parts.body, nodes.length ? el('div.scroll-x', {tabindex: '0', role: 'region', 'aria-label': 'Nodes'}, el('table.nodes', {}, el('thead', {}, el('tr', {}, NODE_HEADS.map((name, i) => el(i > 1 ? 'th.number' : 'th', {scope: 'col'}, name)))),
    el('tbody', {}, [...nodes].sort((a, b) => Number(b.silent) - Number(a.silent)).map(nodeRow)))) : el('p.note', {}, 'No node agent reports here.'));
  const throttled = nodes.flatMap((node) => (node.throttled ?? []).map((each) => ({...each, id: `${each.pod} / ${each.container} on ${node.name}`,
    quota: each.period_us ? each.quota_us / each.period_us : null})));
  return [parts.node, throttledCard(throttled)];
}

export class MemoryView {
  constructor({app}) {
    this.app = app;
    this.body = el('div.memory-cards', {}, el('p.note', {}, 'Reading\u2026'));
    this.node = el('article.memory', {'aria-label': 'Memory'}, el('div.head-line', {}, el('a.back', {href: '#/'}, '\u2190 Services'), el('h1', {}, 'Memory')), this.body, app.placesCard.node);
    this.timer = setInterval(() => this.refresh(), MEMORY_MS);
  }

  close() {
    clearInterval(this.timer);
    this.closed = true;
  }

  async load() {
    const {form} = await this.app.known();
    const [memory, nodes] = await Promise.all([form === 'cluster' ? null : getOrNull('memory'), form === 'machine' ? null : getOrNull('nodes')]);
    if (this.closed) return;
    const key = JSON.stringify([memory, nodes]);
    if (key === this.key) return;
    this.key = key;
    const reports = Array.isArray(nodes) ? nodes : nodes?.items ?? (nodes?.nodes ?? null);
    fill(this.body, memory ? [machineCard(memory), throttledCard(memory.throttled ?? [])] : null, reports ? nodesCard(reports) : null,
      !memory && !reports ? el('div.card.empty', {}, el('h2', {}, 'Nothing is known of memory'), el('p', {}, 'This engine does not report it; a newer one does.')) : null);
  }

  async refresh() {
    if (document.hidden || this.app.frozen()) return;
    await this.load().catch(() => null);
  }

  event() {}

  draw() {}
}

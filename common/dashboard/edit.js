// Dialogs of changes. Each says first what it does, and which command does the same.

import {getOrNull, post} from './live.js';
import {count, el, fill, nameOf, setText, whole} from './text.js';

/** A dialog that closes by Esc, by its button, and gives the focus back. `act()` does what its button says. */
export function dialog({title, words, form = [], command, name = 'The same on a terminal: ', button, act}) {
  const problem = el('p.problem', {role: 'alert', hidden: true});
  const go = button ? el('button.primary', {type: 'submit'}, button) : null;
  const box = el('dialog.card', {'aria-label': title}, el('form', {method: 'dialog', onsubmit: async (event) => {
    if (!act) return;
    event.preventDefault();
    problem.hidden = true;
    go.disabled = true;
    try {
      await act();
      box.close();
    } catch (error) {
      fill(problem, error.message, error.fix ? ` (${error.fix})` : '');
      problem.hidden = false;
    }
    go.disabled = false;
  }}, el('h2', {}, title), words.map((text) => (typeof text === 'string' ? el('p', {}, text) : text)), form,
  command ? el('p.note', {}, name, el('code', {}, command)) : null, problem,
  el('div.dialog-buttons', {}, el('button', {type: 'button', onclick: () => box.close()}, button ? 'Cancel' : 'Close'), go)));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

export function wakeDialog({status, path, done}) {
  dialog({title: `Wake ${status.name}`, button: 'Wake', command: `sluice wake ${nameOf(status)}`,
    words: [status.state === 'asleep' ? 'Starts one replica now, as a request would.' : 'A replica runs already; one is wanted at least, until the usual rules let it sleep.',
      'Without requests it sleeps again after the stable window.'],
    act: async () => done(await post(`${path}/wake`))});
}

export function sleepDialog({status, path, done}) {
  const running = (status.ready ?? 0) + (status.starting ?? 0);
  dialog({title: `Let ${status.name} sleep`, button: 'Sleep', command: `sluice sleep ${nameOf(status)}`,
    words: [running ? `${count(running, 'replica')} ${running === 1 ? 'ends' : 'end'}: what they are working on is finished first, for as long as the service's timeout allows.` : 'No replica runs.',
      'The next request wakes it, and waits for the start.'],
    act: async () => done(await post(`${path}/sleep`))});
}

export function boundsDialog({status, path, done}) {
  const least = el('input', {type: 'number', id: 'bound-min', min: '0', max: '10000', required: true, value: String(status.min ?? 0)});
  const most = el('input', {type: 'number', id: 'bound-max', min: '0', max: '10000', required: true, value: String(status.max ?? 0)});
  const words = el('p', {'aria-live': 'polite'});
  const tell = () => {
    const [min, max] = [Number(least.value), Number(most.value)];
    const held = min > 0 ? `At least ${count(min, 'replica')} ${min === 1 ? 'runs' : 'run'} from now on: it does not sleep.` : 'It sleeps without requests.';
    const cap = max === 0 ? ' No upper bound.' : ` At most ${count(max, 'replica')}: what is more than they can carry waits, then gets 503.`;
    const wrong = max > 0 && min > max;
    most.setCustomValidity(wrong ? 'The upper bound is below the lower one' : '');
    const starts = Math.max(0, min - (status.desired ?? 0));
    const ends = max > 0 ? Math.max(0, (status.desired ?? 0) - max) : 0;
    fill(words, held, cap, starts ? ` ${count(starts, 'replica')} ${starts === 1 ? 'starts' : 'start'} now.` : '', ends ? ` ${count(ends, 'replica')} ${ends === 1 ? 'ends' : 'end'} now.` : '');
  };
  least.addEventListener('input', tell);
  most.addEventListener('input', tell);
  tell();
  dialog({title: `Bounds of ${status.name}`, button: 'Set bounds', command: `sluice scale ${nameOf(status)} --min N --max N`,
    words: [words, el('p.note', {}, 'No new revision; a changed spec sets them back.')],
    form: [el('div.fields', {}, el('label', {for: 'bound-min'}, 'at least'), least, el('label', {for: 'bound-max'}, 'at most (0: no bound)'), most)],
    act: async () => done(await post(`${path}/scale`, {min: Number(least.value), max: Number(most.value)}))});
}

// The revisions of a service as lines to fill in, and what the numbers mean.
function trafficForm(status, revisions) {
  const words = el('p', {'aria-live': 'polite'});
  const command = el('span');
  const pin = el('input', {type: 'checkbox', id: 'traffic-pin'});
  const rows = revisions.map((revision, i) => ({revision, input: el('input', {type: 'number', id: `traffic-${i}`, min: '0', max: '100', step: '1', required: true, value: String(revision.percent ?? 0)})}));
  const parts = () => rows.map(({revision, input}) => ({revision: revision.latest && !pin.checked ? '@latest' : revision.revision, percent: Number(input.value)})).filter(({percent}) => percent > 0);
  const tell = () => {
    const sum = rows.reduce((all, {input}) => all + Number(input.value), 0);
    const wrong = sum === 100 ? '' : `The parts are ${whole(sum)} % together and have to be 100 %.`;
    rows[0].input.setCustomValidity(wrong);
    const leaving = rows.filter(({revision, input}) => revision.percent > 0 && !Number(input.value)).map(({revision}) => revision.revision);
    const coming = rows.filter(({revision, input}) => !revision.percent && Number(input.value) > 0).map(({revision}) => revision.revision);
    fill(words, wrong || 'New requests are divided like this at once; those that run are finished.', !wrong && coming.length ? ` ${coming.join(', ')} starts replicas as requests come.` : '',
      !wrong && leaving.length ? ` ${leaving.join(', ')} gets no more and drains.` : '');
    setText(command, `sluice traffic ${nameOf(status)} ${parts().map(({revision, percent}) => `${revision}=${percent}`).join(',')}`);
  };
  for (const {input} of rows) input.addEventListener('input', tell);
  pin.addEventListener('input', tell);
  tell();
  const fields = el('div.fields', {}, rows.map(({revision, input}) => [el('label', {for: input.id}, `${revision.revision} `, el('span.note', {}, `${revision.latest ? 'latest, ' : ''}${revision.state}, %`)), input]),
    el('label', {for: pin.id}, 'The latest keeps its part when a newer one is there'), pin);
  return {words, command, fields, parts};
}

/** The parts of requests that revisions get. */
export async function trafficDialog({status, path, done}) {
  const revisions = (await getOrNull(`${path}/revisions`).catch(() => null))?.items ?? [];
  const title = `Traffic of ${status.name}`;
  if (revisions.length < 2) {
    dialog({title, words: ['All requests go to the only revision. A changed spec makes another one.']});
    return;
  }
  const {words, command, fields, parts} = trafficForm(status, revisions);
  dialog({title, button: 'Divide', command, words: [words], form: fields, act: async () => done(await post(`${path}/traffic`, {percents: parts()}))});
}

/** To another place. */
export async function moveDialog({status, path, done}) {
  const places = await getOrNull('places').catch(() => null);
  const open = (places?.items ?? []).filter((place) => place.state === 'ready');
  const to = el('select', {id: 'move-to'}, open.map(({name, used, capacity}) => el('option', {value: name}, `${name}: ${whole(used.replicas)}${capacity.replicas === null ? '' : ` of ${whole(capacity.replicas)}`} replicas`)));
  dialog({title: `Move ${status.name}`, button: 'Move', command: `sluice move ${nameOf(status)} --to PLACE`,
    words: ['Replicas start in the other place and take requests before those that run now are drained: no request is cut. A service that sleeps starts there next.'],
    form: el('div.fields', {}, el('label', {for: 'move-to'}, 'to'), to), act: async () => done(await post(`${path}/move`, {to: to.value}))});
}

/** Empties a place, or opens one that was emptied. */
export function drainDialog({place, done}) {
  const opens = place.state === 'draining';
  const verb = opens ? 'undrain' : 'drain';
  dialog({title: opens ? `Open ${place.name}` : `Drain ${place.name}`, button: opens ? 'Open' : 'Drain', command: `sluice ${verb} ${place.name}`,
    words: [opens ? 'Replicas may start there again; what has left comes back by the usual rules.'
      : `${count((place.services ?? []).length, 'service')} there: replicas start elsewhere and take requests before those here are drained. What has no room elsewhere stays. Nothing new starts there until it is opened.`],
    act: async () => done(await post(`places/${encodeURIComponent(place.name)}/${verb}`))});
}

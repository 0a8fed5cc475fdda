// Dialogs of changes. Each says first what it does, and which command does the same.

import {getOrNull, post} from './live.js';
import {count, el, fill, whole} from './text.js';

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

function nameOf(status) {
  return status.namespace === 'default' ? status.name : `${status.namespace}/${status.name}`;
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

/** Traffic is divided on a terminal alone; what is in force can be seen here. */
export async function trafficDialog({status, path}) {
  const answer = await getOrNull(`${path}/revisions`).catch(() => null);
  const revisions = Array.isArray(answer) ? answer : answer?.items ?? [];
  const rows = revisions.map((each) => el('tr', {}, el('th', {scope: 'row'}, `${each.revision}${each.latest ? ' (latest)' : ''}`), el('td', {}, each.state), el('td.number', {}, `${whole(each.percent)} %`)));
  const [first, second] = revisions;
  dialog({title: `Traffic of ${status.name}`, command: second && `sluice traffic ${nameOf(status)} ${first.revision}=90,${second.revision}=10`, name: 'To divide it, on a terminal: ',
    words: [second ? 'New requests are divided among revisions like this. A revision without a part drains: what it works on is finished first.'
      : 'All requests go to the only revision. A changed spec makes another one.', el('table', {}, el('tbody', {}, rows))]});
}

const TYPED = 'input, textarea, select, [contenteditable="true"], [role="dialog"], [role="combobox"]';
const MOVED = '[role="slider"], [role="radiogroup"], [role="listbox"], [role="grid"], [data-testid="stButtonGroup"]';
const VERDICTS = {w: 'wrong', f: 'fine', u: 'unsure'}, DIGITS = '1234567890';
const SOON = 150, UNANSWERED = 6000, AHEAD = 60;

const stored = name => `whichfluence review ${name}`;
const token = () => crypto.getRandomValues(new Uint32Array(3)).reduce((text, n) => text + n.toString(36), '');
const row_of = desk => desk.pages[desk.view]?.[desk.focus];
const open_of = desk => desk.pending.filter(one => !one.asked);

const right_of = (desk, one) => one.text ? ' → another response'
  : one.label === null || one.label === undefined ? '' : ` → ${desk.classes[one.label]}`;

/* What is known of every row: the server's decisions with those on their way. */
function standing(desk) {
  const known = new Map(Object.entries(desk.decisions).map(([row, one]) => [Number(row), one]));
  for (const one of open_of(desk)) {
    if (!one.undo) known.set(one.row, {...one, event: one.id});
    else for (const row of one.rows) one.before[row] ? known.set(row, one.before[row]) : known.delete(row);
  }
  return known;
}

/* What this reviewer has decided and not taken back, the last one at the end. */
function history(desk) {
  const acts = desk.history.map(one => ({...one}));
  for (const one of open_of(desk)) {
    const at = acts.findIndex(act => act.event === (one.undo ?? one.id));
    if (one.undo) { if (at >= 0) acts.splice(at, 1); }
    else if (at < 0) acts.push({event: one.id, rows: [one.row], before: {[one.row]: one.before}});
  }
  return acts;
}

function next_open(desk, row) {
  const known = standing(desk), at = desk.order.indexOf(row);
  return [...desk.order.slice(at + 1), ...desk.order.slice(0, Math.max(at, 0))].find(one => !known.has(one)) ?? null;
}

function save(desk) {
  const kept = {reviewer: desk.reviewer, pending: desk.pending};
  try { sessionStorage.setItem(stored(desk.name), JSON.stringify(kept)); } catch { /* full: a reload would lose them */ }
}

function queue(desk, event) {
  desk.pending.push({id: token(), ...event});
  save(desk);
  desk.schedule(SOON);
}

function decide(desk, verdict, label = null, text = '') {
  const row = desk.focus, shown = row_of(desk);
  if (!shown) return;
  const before = standing(desk).get(row) ?? null, note = desk.drafts[row] ?? before?.note ?? '';
  queue(desk, {row, verdict, label, text, note, before, seen: before?.event ?? ''});
  desk.focus = next_open(desk, row);
  desk.draw();
}

function undo(desk) {
  const last = history(desk).pop();
  if (!last) return;
  queue(desk, {undo: last.event, rows: last.rows, before: last.before});
  const row = last.rows.find(one => desk.order.includes(one));
  if (row !== undefined) desk.focus = row;
  desk.draw();
}

function move(desk, step) {
  const at = desk.focus === null ? desk.order.length : desk.order.indexOf(desk.focus);
  desk.focus = desk.order[Math.min(Math.max(at + step, 0), desk.order.length - 1)] ?? null;
  desk.schedule(SOON);
  desk.draw();
}

function act(desk, key) {
  const shown = row_of(desk);
  if (key === 'z') undo(desk);
  else if (key === 'ArrowLeft' || key === 'ArrowRight') move(desk, key === 'ArrowLeft' ? -1 : 1);
  else if (key in VERDICTS) decide(desk, VERDICTS[key]);
  else if (key === 's' && shown?.suggested) decide(desk, 'wrong', shown.suggested.label);
  else if (DIGITS.includes(key) && DIGITS.indexOf(key) < desk.classes.length) called(desk, DIGITS.indexOf(key));
}

function called(desk, label) {
  const fine = row_of(desk)?.given === label;
  decide(desk, fine ? 'fine' : 'wrong', fine ? null : label);
}

function settle(desk, event, mine) {
  if (mine) { event.seen = event.asked.event; delete event.asked; }
  else desk.pending = desk.pending.filter(one => one !== event);
  save(desk);
  desk.schedule(0);
  desk.draw();
}

function begin(desk, data) {
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(stored(data.desk))); } catch { /* nothing that can be read */ }
  Object.assign(desk, {name: data.desk, reviewer: kept?.reviewer ?? data.reviewer, pending: kept?.pending ?? [],
                       drafts: {}, texts: {}, focus: undefined, turn: data.turn, view: null, batch: '', since: 0, said: ''});
}

function receive(desk, data) {
  if (desk.name !== data.desk) begin(desk, data);
  for (const one of [...desk.pending]) {
    const answer = data.answers[one.id];
    if (!answer) continue;
    if (answer.asked) one.asked = answer.asked;
    else if (!answer.again) desk.pending = desk.pending.filter(other => other !== one);
    desk.said = answer.refused ?? answer.again ?? '';
  }
  if (data.batch === desk.batch) desk.since = 0;
  const {decisions, classes, marks, words} = data, before = desk.focus;
  Object.assign(desk, {decisions, classes, marks, words, history: data.history, order: data.rows});
  const stays = desk.focus === null || desk.order.includes(desk.focus), waiting = open_of(desk).at(-1);
  if (desk.focus === undefined && waiting) desk.focus = next_open(desk, waiting.row ?? waiting.rows[0]);
  else if (data.turn !== desk.turn || !stays || (desk.view !== data.view && !waiting)) desk.focus = data.focus;
  if (before === undefined && desk.focus === undefined) desk.focus = data.focus;
  desk.turn = data.turn;
  desk.view = data.view;
  for (const view of Object.keys(desk.pages)) if (view !== data.view) delete desk.pages[view];
  desk.server = {focus: data.shown, reviewer: data.reviewer};
  save(desk);
}

/* One batch at a time is on its way; what nobody answered is sent again. */
function send(desk, setStateValue) {
  if (desk.since && performance.now() - desk.since < UNANSWERED) return;
  const events = open_of(desk).slice(0, 200).map(one => ({id: one.id, row: one.row, verdict: one.verdict,
    label: one.label, text: one.text, note: one.note, seen: one.seen, undo: one.undo}));
  const ahead = desk.order.slice(desk.order.indexOf(desk.focus)).slice(0, AHEAD);
  const lacking = ahead.some(row => !desk.pages[desk.view]?.[row]) && desk.server.focus !== desk.focus;
  if (!events.length && !lacking && desk.server.focus === desk.focus && desk.server.reviewer === desk.reviewer) return;
  desk.batch = token();
  desk.since = performance.now();
  setStateValue('queue', {desk: desk.name, reviewer: desk.reviewer, batch: desk.batch, focus: desk.focus, events});
}

function draw_asked(desk, find) {
  const asked = desk.pending.find(one => one.asked), box = find('asked');
  box.hidden = !asked;
  if (!asked) return;
  const say = one => desk.marks[one.verdict] + right_of(desk, one);
  const name = desk.pages[desk.view]?.[asked.row]?.called ?? `${desk.words.one} ${asked.row}`;
  find('conflict').textContent =
    `${name} was decided elsewhere meanwhile: ${say(asked.asked)}. You decided: ${say(asked)}. Which one holds?`;
  find('theirs').onclick = () => settle(desk, asked, false);
  find('mine').onclick = () => settle(desk, asked, true);
}

function draw_row(desk, find) {
  const row = desk.focus, shown = row_of(desk), known = standing(desk).get(row);
  const at = desk.order.indexOf(row), text = [];
  if (row !== null) text.push(`${at + 1} of ${desk.order.length} ${desk.words.listed}`,
                              shown?.called ?? `reading this ${desk.words.one} …`);
  find('name').textContent = text.join(' · ');
  find('mark').textContent = known ? ` · ${desk.marks[known.verdict]}${right_of(desk, known)}` : '';
  find('mark').className = `wf-review-mark wf-mark-${known?.verdict}`;
  find('done').hidden = row !== null;
  find('example').hidden = row === null;
  const drawn = shown ? `${desk.view} ${row} ${shown.reasons}` : '';
  if (desk.drawn !== drawn) {
    find('looks').innerHTML = shown?.looks ?? '';
    find('reasons').innerHTML = shown?.reasons ?? '';
    find('note').value = desk.drafts[row] ?? known?.note ?? '';
    find('text').value = desk.texts[row] ?? (known?.text || (shown?.text ?? ''));
    find('correction').open = row in desk.texts;
    desk.drawn = drawn;
  }
  const button = find('suggested');
  button.hidden = !shown?.suggested;
  button.textContent = shown?.suggested ? `Wrong, it is ${desk.classes[shown.suggested.label]} (s)` : '';
  find('correction').hidden = shown?.text === undefined;
  find('why').textContent = shown?.suggested?.why ?? (desk.words.unsuggested ?? '');
  find('classes').querySelectorAll('button').forEach((one, label) => {
    one.classList.toggle('wf-given', shown?.given === label);
    one.title = shown?.given === label ? 'The given label: fine' : '';
  });
  for (const one of find('example').querySelectorAll('button, select')) one.disabled = !shown;
  find('undo').disabled = !history(desk).length;
  find('back').disabled = at === 0;
  find('on').disabled = row === null || at === desk.order.length - 1;
}

function draw_status(desk, find) {
  const left = open_of(desk).length;
  find('status').textContent = desk.said ||
    (left ? `Saving ${left} decision${left > 1 ? 's' : ''} …` : 'Every decision is saved.');
}

function build(desk, find) {
  for (const word of ['wrong', 'fine', 'unsure', 'done']) find(word).textContent = desk.words[word];
  const box = find('classes'), more = find('more'), names = desk.classes.join('\n');
  if (box.dataset.names === names) return;
  box.dataset.names = names;
  box.replaceChildren(...desk.classes.slice(0, DIGITS.length).map((name, label) => {
    const button = document.createElement('button'), key = document.createElement('kbd');
    key.textContent = DIGITS[label];
    button.append(key, ` ${name}`);
    button.onclick = () => called(desk, label);
    return button;
  }));
  box.hidden = !desk.classes.length;
  more.hidden = desk.classes.length <= DIGITS.length;
  more.replaceChildren(new Option('Another class …', ''), ...desk.classes.slice(DIGITS.length).map(
    (name, label) => new Option(name, label + DIGITS.length)));
  more.onchange = () => { const label = Number(more.value); more.value = ''; called(desk, label); more.blur(); };
}

export default function({data, setStateValue, parentElement}) {
  const desk = window.wfReview ??= {pages: {}, draw: () => {}};
  const find = name => parentElement.querySelector(`.wf-review-${name}`);
  let timer = 0;
  desk.schedule = wait => {
    timer ||= setTimeout(() => { timer = 0; send(desk, setStateValue); }, wait);
  };
  const draw = () => { if (find('status')) { draw_asked(desk, find); draw_row(desk, find); draw_status(desk, find); } };
  desk.draw = draw;
  receive(desk, data);
  build(desk, find);
  for (const [name, key] of [['wrong', 'w'], ['fine', 'f'], ['unsure', 'u'], ['suggested', 's'], ['undo', 'z'],
    ['back', 'ArrowLeft'], ['on', 'ArrowRight']]) find(name).onclick = () => act(desk, key);
  find('note').oninput = event => { if (desk.focus !== null) desk.drafts[desk.focus] = event.target.value; };
  find('text').oninput = event => { if (desk.focus !== null) desk.texts[desk.focus] = event.target.value; };
  find('replace').onclick = () => {
    const text = find('text').value.trim();
    if (text) decide(desk, 'wrong', null, text);
  };
  find('note').onkeydown = event => { if (event.key === 'Enter' || event.key === 'Escape') event.target.blur(); };
  const press = event => {
    const arrow = event.key.startsWith('Arrow'), at = event.target;
    const key = arrow ? event.key : event.key.toLowerCase();
    if (!data.keys.includes(key) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (at.closest?.(TYPED) || (arrow && at.closest?.(MOVED)) || (event.repeat && !arrow)) return;
    event.preventDefault();
    act(desk, key);
  };
  document.removeEventListener('keydown', desk.press);
  document.addEventListener('keydown', press);
  desk.press = press;
  if (desk.root !== parentElement) Object.assign(desk, {root: parentElement, drawn: null});
  desk.draw();
  desk.schedule(SOON);
  const again = setInterval(() => { if (open_of(desk).length) desk.schedule(0); }, UNANSWERED / 2);
  return () => {
    document.removeEventListener('keydown', press);
    clearInterval(again);
    clearTimeout(timer);
    if (desk.draw === draw) desk.draw = () => {};
  };
}

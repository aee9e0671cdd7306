// What mouse, keys and fields do, each by its name in the page (data-do) or on the keyboard.

import { partAt, search, thingAt } from "./choices.js";
import { all } from "./picture.js";
import { STEP } from "./spots.js";

// One page in the place of the picture, and back.
const turn = (name) => ({ root }) => {
  const tabs = all(root, ".kp-stage .kp-tabs>[data-tab]");
  const tab = tabs.find(({ textContent }) => textContent === name);
  (tab?.ariaPressed === "true" ? tabs[0] : tab)?.click();
};

// What can be done, by name.
const BUTTONS = {
  first: (player) => player.restart(),
  watch: (player) => player.begun(() => player.play()),
  myself: (player) => player.begun(() => player.rush.do(() => player.forward())),
  uncover: (player) => player.begun(),
  last: (player) => player.jump(player.path.at(-1)),
  back: (player) => player.rush.do(() => player.backward()),
  past: (player) => player.rush.do(() => player.backward(true)),
  again: (player, button) => player.jump(player.path[player.step - Number(button.dataset.steps)]),
  play: (player) => player.play(),
  step: (player) => player.rush.do(() => player.forward()),
  milestone: (player) => player.rush.do(() => player.forward(true)),
  fork: (player) => player.rush.do(() => player.fork()),
  show: (player, button) => player.chooseBranch(Number(button.dataset.leaf)),
  compare: (player, button) => player.compareWith(Number(button.dataset.leaf)),
  alone: (player) => {
    player.compareWith(-1);
    player.forks.focus();
  },
  setup: (player) => player.drawer.toggle(),
  film: (player) => player.film.toggle(),
  frame: (player, button) => player.film.go(Number(button.dataset.moment)),
  help: (player, button) => player.toggleHelp(button),
  print: () => print(),
  predict: (player) => player.togglePredict(),
  projector: (player) => player.projector.toggle(),
  unfold: (player) => player.toggleUnfold(),
  story: (player) => player.toggleStory(),
  open: (player) => player.toggleStory(false),
  why: (player, button) => player.breaks.why(button),
  word: ({ voice }, button) => voice.tell(button.dataset.means, button),
  broke: (player, button) => player.breaks.open(Number(button.dataset.moment)),
  visit: (player, button) => player.visit(Number(button.dataset.moment)),
  copy: (player, button) => player.breaks.copy(button),
  answer: (player, button) => player.answer(button),
  reveal: (player) => player.answer(),
  vote: (player) => player.vote(),
  before: (player) => player.spots.walk(-1),
  after: (player) => player.spots.walk(1),
  pin: (player) => player.spots.pin(),
  take: ({ hand, voice, model }) => (hand ? hand.take() : voice.tell(model.get("closed"))),
  zoom: (player) => player.spots.resize(),
  "zoom-in": (player) => player.spots.resize(STEP),
  actions: ({ sheets }) => sheets.open(".more"),
  tables: ({ sheets }) => sheets.open(".kp-tables"),
  table: turn("Table"),
  states: turn("States"),
  "zoom-out": (player) => player.spots.resize(1 / STEP),
};

// What a key does, by the name of the button that does it, too.
const KEYS = {
  ArrowRight: "step",
  ArrowLeft: "back",
  j: "step",
  k: "back",
  " ": "play",
  Home: "first",
  End: "last",
  f: "fork",
  o: "film",
  a: "actions",
  p: "projector",
  t: "table",
  s: "states",
  w: "why",
  "[": "before",
  "]": "after",
  Enter: "pin",
  m: "take",
  "+": "zoom-in",
  "=": "zoom-in",
  "-": "zoom-out",
  0: "zoom",
  "?": "help",
};
// What the remote of a presenter sends; elsewhere these keys scroll the page.
const REMOTE = { PageDown: "step", PageUp: "back" };
const WITH_SHIFT = { ArrowRight: "milestone", ArrowLeft: "past" };

const RUNS = ["step", "milestone"]; // a key that is held down for one does not leave a break
const WALKING = /^(Arrow(Up|Down)|Enter| )$/; // keys that a group of things takes for itself
const PRESSING = /^(Enter| )$/;
const PRESSED = "button,summary,input[type=checkbox]";

// Nothing is heard before there is a first frame: until its pack is unpacked a page has no steps.
export function listen(player) {
  const heard = { click, input, change, focusin: focus, pointerover: point, pointerleave: point };
  heard.keydown = press;
  const hear = (event) => heard[event.type](player, event.target, event);
  player.wire.then(() => {
    for (const name in heard) player.root.addEventListener(name, hear);
  });
}

function click(player, target) {
  const button = target.closest("button,[data-roving],[data-act]");
  player.voice.hush();
  player.sheets.clicked(target);
  const part = partAt(target);
  if (!target.closest(".kp-menu") && !part) player.menu.close();
  const head = target.closest("svg .who");
  if (head) player.spots.fold(head);
  else if (!button && part) touch(player, part, part.dataset.of ?? part.dataset.k);
  if (head || !button) return;
  const { act, spot, tab } = button.dataset;
  if (act) player.rush.do(() => use(player, button));
  else if (spot) touch(player, button, spot);
  else if (tab) {
    player.sheets.close();
    player.menu.close();
    player.choices.turnTo(tab);
    player.spots.follow(player.main); // it may have grown meanwhile
  }
  else if (button.getAttribute("aria-disabled") === "true")
    player.voice.tell(player.step ? player.model.get("closed") : "This is the first step.");
  else BUTTONS[button.dataset.do](player, button);
}

// A thing is lit, and in the picture its menu opens; while a question is open it is an answer.
function touch(player, part, thing) {
  const isAnswer = player.choices.light(thing);
  if (!isAnswer) player.menu.press(part, thing);
}

// When its turn comes: what the button does then; one that is gone by then does nothing.
function use(player, button) {
  const { act, refused } = button.dataset;
  if (refused) player.voice.tell(refused, button);
  else if (button.isConnected) {
    player.menu.close();
    player.breaks.wanted = act;
    player.act(act, button);
  }
}

function input(player, target) {
  if (target.matches("[data-filter]")) player.voice.speak(search(target));
  if (target !== player.range) return;
  player.pause();
  cancelAnimationFrame(player.drag);
  player.drag = requestAnimationFrame(() => player.scrub(Number(target.value)));
}

function point(player, target) {
  player.choices.point(thingAt(target));
}

function change(player, target) {
  if (target.dataset.do === "only")
    target.closest(".kp-break") ? player.breaks.only() : player.spots.follow(player.main);
  if (target.dataset.choose) player.choices.choose(target);
  if (target.dataset.thing) player.choices.restoreLight();
  if (target === player.control("speed") && player.playing) {
    player.pause();
    player.play();
  }
}

// Of a group of things that arrows walk, the focused one is the tab stop.
function focus(player, target) {
  if (target.matches("[data-of]")) point(player, target);
  if (!target.matches("[data-roving]")) return;
  for (const item of all(target.closest("[data-rove]"), "[data-roving]"))
    item.tabIndex = item === target ? 0 : -1;
}

function press(player, target, event) {
  const { key, shiftKey } = event;
  // The slider takes these keys the other way round.
  const isRemote = player.projector.isOn || target === player.range;
  const name = (shiftKey && WITH_SHIFT[key]) || KEYS[key] || (isRemote && REMOTE[key]);
  if (player.hand?.key(key)) {
    event.preventDefault();
    event.stopPropagation();
    return;
  }
  if (key === "Escape") {
    const isOver = player.menu.close() || player.withdraw() || !player.voice.note.hidden;
    if (!isOver && !player.sheets.close() && !player.breaks.close()) player.begun();
    player.choices.dark();
    player.forks.preview();
    player.voice.hush();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab") return;
  event.stopPropagation(); // JupyterLab acts on single letters even here
  const isText = target.matches("input:not([type=range],[type=checkbox])");
  const isOther = target.matches("select") && !/^(Arrow(Left|Right)|\?)$/.test(key);
  if (isText && key === "Enter") take(target);
  if (isText || isOther || (PRESSING.test(key) && target.matches(PRESSED))) return;
  if (target.matches("svg .who") && PRESSING.test(key)) {
    event.preventDefault();
    player.spots.fold(target);
  } else if (target.matches("[data-roving]") && WALKING.test(key)) rove(event);
  else if (!player.ask.hidden && /^[1-9]$/.test(key)) player.bet(key);
  else if (/^[1-9]$/.test(key))
    player.rush.do(() => player.main.box.querySelector(`[data-key="${key}"]`)?.click());
  else if (name) {
    event.preventDefault();
    const isHeld = event.repeat && player.store.moments[player.at].broken;
    if (!isHeld || !RUNS.includes(name)) BUTTONS[name](player);
  }
}

// Of the actions that a search has left, the only one.
function take(box) {
  const [hit, other] = all(box.closest("[data-sift]") ?? box, "[data-my-hit] [data-act]");
  if (!other) hit?.click();
}

function rove(event) {
  const { key, target } = event;
  const items = all(target.closest("[data-rove]"), "[data-roving]");
  const next = items.indexOf(target) + (key === "ArrowDown" ? 1 : -1);
  event.preventDefault();
  if (key.startsWith("Arrow")) items.at(next % items.length).focus();
  else target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

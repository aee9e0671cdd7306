// What mouse, keys and fields do, each by its name in the page (data-do) or on the keyboard.

import { all } from "./picture.js";

const BUTTONS = {
  first: (player) => player.go(player.path[0], false),
  back: (player) => player.backward(),
  play: (player) => player.play(),
  step: (player, button) => player.forward(false, button),
  milestone: (player, button) => player.forward(true, button),
  fork: (player, button) => player.fork(button),
  help: (player, button) => player.toggleHelp(button),
  predict: (player) => player.press("predict", !player.isPressed("predict")),
  projector: (player) => player.toggleProjector(),
  unfold: (player) => player.toggleUnfold(),
  answer: (player) => player.answer(true),
  reveal: (player) => player.answer(false),
};

const KEYS = {
  ArrowRight: (player, event) => player.forward(event.shiftKey),
  ArrowLeft: (player, event) => player.backward(event.shiftKey),
  j: (player) => player.forward(),
  k: (player) => player.backward(),
  " ": (player) => player.play(),
  Home: (player) => player.go(player.path[0], false),
  End: (player) => player.go(player.path.at(-1), false),
  f: (player) => player.fork(),
  p: (player) => player.toggleProjector(),
  "?": (player) => player.toggleHelp(),
};

const WALKING = /^(Arrow.*|Enter| )$/; // keys that a group of things takes for itself

export function listen(player) {
  const { root } = player;
  root.addEventListener("click", (event) => click(player, event.target));
  root.addEventListener("input", (event) => input(player, event.target));
  root.addEventListener("change", (event) => change(player, event.target));
  root.addEventListener("focusin", (event) => focus(event.target));
  root.addEventListener("keydown", (event) => press(player, event));
}

function click(player, target) {
  const button = target.closest("button,[data-roving]");
  player.voice.hush();
  if (!button) return;
  const { act, spot } = button.dataset;
  const picked = act === "pick" ? pickedOption(button) : button;
  const { refused } = picked.dataset;
  if (refused !== undefined) player.voice.tell(refused, button);
  else if (act) player.act(act === "pick" ? picked.value : act, button);
  else if (spot) player.choices.light(spot);
  else if (button.getAttribute("aria-disabled") === "true")
    player.voice.tell(player.step ? player.model.get("closed") : "This is the first step.", button);
  else BUTTONS[button.dataset.do](player, button);
}

function pickedOption(button) {
  return button.closest("[data-group]").querySelector("select").selectedOptions[0];
}

function input(player, target) {
  if (target.matches("[data-filter]")) player.choices.restore();
  if (target !== player.range) return;
  player.pause();
  cancelAnimationFrame(player.drag);
  player.drag = requestAnimationFrame(() => player.go(player.path[Number(target.value)], false));
}

function change(player, target) {
  const value = Number(target.value);
  if (target.dataset.choose) player.choices.choose(target);
  if (target === player.control("branch")) player.chooseBranch(value);
  if (target === player.control("compare")) {
    player.other = value;
    player.compare();
    player.choices.restore();
  }
  if (target === player.control("speed") && player.playing) {
    player.pause();
    player.play();
  }
}

// Of a group of things that arrows walk, the focused one is the tab stop.
function focus(target) {
  if (!target.matches("[data-roving]")) return;
  for (const item of all(target.closest("[data-rove]"), "[data-roving]"))
    item.setAttribute("tabindex", item === target ? "0" : "-1");
}

function press(player, event) {
  const { key, target } = event;
  if (key === "Escape") {
    player.voice.hush();
    if (!player.help.hidden) player.toggleHelp();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab") return;
  event.stopPropagation(); // JupyterLab acts on single letters even here
  if (isTyping(target, key) || isPressing(target, key)) return;
  if (target.matches("[data-roving]") && WALKING.test(key)) rove(event);
  else if (KEYS[key]) {
    event.preventDefault();
    KEYS[key](player, event);
  }
}

function isTyping(target, key) {
  const isText = target.matches("input:not([type=range],[type=checkbox])");
  return isText || (target.matches("select") && key !== "?");
}

function isPressing(target, key) {
  return (key === " " || key === "Enter") && target.matches("button,summary,input[type=checkbox]");
}

function rove(event) {
  const { key, target } = event;
  const items = all(target.closest("[data-rove]"), "[data-roving]");
  const next = items.indexOf(target) + (/Right|Down/.test(key) ? 1 : -1);
  event.preventDefault();
  if (key.startsWith("Arrow")) items.at(next % items.length).focus();
  else target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

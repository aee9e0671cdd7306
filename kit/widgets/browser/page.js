// The entry of an exported page: the pack lies in the page, and its address names the step.

import { listen } from "./controls.js";
import { Player } from "./player.js";

const box = document.getElementById("player");
const given = new URLSearchParams(location.hash.slice(1));
const traits = {
  pack: window.bytesOf("pack"),
  shell: box.innerHTML,
  live: false,
  closed: box.dataset.closed,
  start: namedMoment() ?? 0,
  story: namedMoment() === null,
};

// Older addresses name a moment.
function namedMoment() {
  const found = /^#step-(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

const model = {
  get: (name) => traits[name],
  on() {},
  off() {},
  send({ position }) {
    if (!position) return;
    const { run, step } = player.place;
    const { tab, lit } = player.choices;
    const ask = player.isPressed("predict") ? 1 : null;
    const said = Object.entries({ run, step, tab, lit, ask }).filter((pair) => pair[1] != null);
    history.replaceState(null, "", `#${new URLSearchParams(said)}`);
  },
};
const player = new Player(model, box);
listen(player);
player.wire.then(() => follow(given));

// Go where an address leads: `#run=1&step=4&tab=log&lit=A&ask=1`, each part where it is wanted.
function follow(named) {
  const { choices } = player;
  if (named.has("step")) {
    const step = Number(named.get("step")) || 0;
    player.jump(player.locate({ run: Number(named.get("run")) || 1, step }));
  }
  if (named.has("lit") && choices.lit !== named.get("lit")) choices.light(named.get("lit"));
  if (named.has("tab")) choices.turnTo(named.get("tab"));
  if (named.has("ask")) player.press("predict", true);
}

addEventListener("hashchange", () => {
  if (namedMoment() !== null) player.visit(namedMoment());
  else follow(new URLSearchParams(location.hash.slice(1)));
});
// On a page of its own the keys work wherever one is; those that the player does not take, Tab
// above all, are the browser's.
addEventListener("keydown", (event) => {
  if (event.target !== document.body) return;
  const passed = player.root.dispatchEvent(new KeyboardEvent("keydown", event));
  if (!passed) event.preventDefault();
});

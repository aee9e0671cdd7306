// The entry of an exported page: the pack lies in the page, and its address names the step.

import { listen } from "./controls.js";
import { Player } from "./player.js";

const box = document.getElementById("player");
const text = atob(document.getElementById("pack").textContent);
const traits = {
  pack: Uint8Array.from(text, (letter) => letter.charCodeAt(0)),
  shell: box.innerHTML,
  live: false,
  closed: box.dataset.closed,
  start: namedStep() ?? 0,
};

function namedStep() {
  const found = /^#step-(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

const model = {
  get: (name) => traits[name],
  on() {},
  off() {},
  send({ position }) {
    if (position) history.replaceState(null, "", `#step-${position.at}`);
  },
};
const player = new Player(model, box);
listen(player);
addEventListener("hashchange", () => {
  if (namedStep() !== null) player.visit(namedStep());
});
// On a page of its own the keys work wherever one is; those that the player does not take, Tab
// above all, are the browser's.
addEventListener("keydown", (event) => {
  if (event.target !== document.body) return;
  const passed = player.root.dispatchEvent(new KeyboardEvent("keydown", event));
  if (!passed) event.preventDefault();
});

// The entry of an exported page: the pack lies in the page, and its address names the step. What
// unpacked this module reads the pack, too (bytesIn). Nothing is taken by hand: a page is closed.

import { follow, placeOf } from "./address.js";
import { hearKeys } from "./alone.js";
import { listen } from "./controls.js";
import { Player } from "./player.js";

const box = document.getElementById("player");
const given = new URLSearchParams(location.hash.slice(1));
const traits = {
  pack: bytesIn("pack"),
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
    history.replaceState(null, "", `#${placeOf(player)}`);
  },
};
const player = new Player(model, box);
listen(player);
if (namedMoment() === null) player.wire.then(() => follow(player, given));

addEventListener("hashchange", () => {
  if (namedMoment() !== null) player.visit(namedMoment());
  else follow(player, new URLSearchParams(location.hash.slice(1)));
});
hearKeys(player);

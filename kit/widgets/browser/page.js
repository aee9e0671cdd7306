// The entry of an exported page: the pack lies in the page, and its address names the step. What
// unpacked this module reads the pack, too (bytesIn). Nothing is taken by hand: a page is closed.

import { follow, namedIn, placeOf } from "./address.js";
import { hearKeys } from "./alone.js";
import { listen } from "./controls.js";
import { Player } from "./player.js";

const box = document.getElementById("player");
const given = namedIn();
const traits = {
  pack: bytesIn("pack"),
  shell: box.innerHTML,
  live: false,
  closed: box.dataset.closed,
  start: namedMoment() ?? 0,
  story: namedMoment() === null,
};

// Older addresses name a moment.
function namedMoment(url = location.href) {
  const found = /#step-(\d+)$/.exec(url);
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

addEventListener("hashchange", ({ newURL }) => {
  const moment = namedMoment(newURL);
  if (moment !== null) player.visit(moment);
  else follow(player, namedIn(newURL));
});
hearKeys(player);

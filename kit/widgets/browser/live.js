// The entry of a page whose engine runs beside it in a worker: the pack is shown at once, and what
// one presses before the engine is there waits for it.

import { follow, placeOf } from "./address.js";
import { hearKeys } from "./alone.js";
import { listen } from "./controls.js";
import { Desk } from "./desk.js";
import { Hand } from "./hand.js";
import { linked } from "./linked.js";
import { Player } from "./player.js";

const part = (id) => document.getElementById(id);
const box = part("player");
const place = document.body.dataset;
const given = new URLSearchParams(location.hash.slice(1));
const pack = new Uint8Array(await (await fetch(place.pack)).arrayBuffer());
const engine = new Worker(place.engine, { type: "module" });
const traits = { pack, shell: box.innerHTML, live: true, plays: false, steps: 0, story: false };
const ask = (said) => engine.postMessage({ said: JSON.stringify(said) });
const { model, hear } = linked(traits, (said) => {
  ask(said);
  if (said.position) history.replaceState(null, "", `#${placeOf(player)}`);
});
const player = new Player(model, box);
player.hand = new Hand(player);
listen(player);
hearKeys(player);
player.drawer.attach(box.parentElement);
player.wire.then(() => follow(player, given));

const desk = new Desk(player.drawer.sheet, place, ask);
for (const name of ["setup", "break"])
  document.addEventListener("click", ({ target }) => target.closest(`[data-do=${name}]`) && desk.begin());

engine.onmessage = ({ data }) => {
  if (data === "live") arrived();
  else if (data.failed) failed(data.failed);
  else {
    const told = typeof data === "string" ? JSON.parse(data) : data;
    if (told.drawer !== undefined) desk.show(told.drawer);
    else if (told.search) desk.search(told.search);
    else hear(told);
  }
};
engine.onerror = (event) => failed(event.message);
engine.postMessage({ open: { name: place.story, pack } });

function arrived() {
  place.is = "live";
  part("engine").textContent = place.live;
  player.wire.then(() => player.wire.sync());
}

// Without an engine the story can be read still.
function failed(why) {
  place.is = "failed";
  player.isLive = false;
  traits.closed = part("engine").textContent = place.failed;
  console.error(why);
}

addEventListener("hashchange", () =>
  follow(player, new URLSearchParams(location.hash.slice(1))));

// The entry of a page whose engine runs beside it in a worker: the pack is shown at once, and what
// one presses before the engine is there waits for it.

import { follow, placeOf } from "./address.js";
import { listen } from "./controls.js";
import { Hand } from "./hand.js";
import { linked } from "./linked.js";
import { Player } from "./player.js";

const box = document.getElementById("player");
const place = document.body.dataset;
const given = new URLSearchParams(location.hash.slice(1));
const pack = new Uint8Array(await (await fetch(place.pack)).arrayBuffer());
const engine = new Worker(place.engine, { type: "module" });
const traits = { pack, shell: box.innerHTML, live: true, plays: false, steps: 0, story: false };
const { model, hear } = linked(traits, (said) => {
  engine.postMessage(JSON.stringify(said));
  if (said.position) history.replaceState(null, "", `#${placeOf(player)}`);
});
const player = new Player(model, box);
player.hand = new Hand(player);
listen(player);
player.drawer.attach(box.parentElement);
player.wire.then(() => follow(player, given));
engine.onmessage = ({ data }) => {
  if (data === "live") arrived();
  else if (data.failed) failed(data.failed);
  else hear(typeof data === "string" ? JSON.parse(data) : data);
};
engine.onerror = (event) => failed(event.message || place.failed);
engine.postMessage({ name: place.story, pack });

function arrived() {
  place.is = "live";
  document.getElementById("engine").textContent = place.live;
  player.wire.then(() => player.wire.sync());
}

// Without an engine the story can be read still.
function failed(why) {
  place.is = "failed";
  player.isLive = false;
  traits.closed = document.getElementById("engine").textContent = place.failed;
  console.error(why);
}

addEventListener("hashchange", () =>
  follow(player, new URLSearchParams(location.hash.slice(1))));

// The entry of a page whose engine runs beside it in a worker: the pack is shown at once, and what
// one presses before the engine is there waits for it.

import { follow, placeOf } from "./address.js";
import { hearKeys } from "./alone.js";
import { listen } from "./controls.js";
import { Desk } from "./desk.js";
import { Engine } from "./engine.js";
import { Hand } from "./hand.js";
import { linked } from "./linked.js";
import { Player } from "./player.js";

const part = (id) => document.getElementById(id);
const box = part("player");
const place = document.body.dataset;
const given = new URLSearchParams(location.hash.slice(1));
const pack = new Uint8Array(await (await fetch(place.pack)).arrayBuffer());
const traits = { pack, shell: box.innerHTML, live: true, plays: false, steps: 0, story: false };
// A page that is one file has in it what others fetch.
const fetched = (name) => {
  const held = part(name);
  const beside = () => new URL(name, new URL(place.engine, location.href));
  return fetch(held ? `data:;base64,${held.textContent}` : beside());
};
const ask = (said) => engine.ask("said", JSON.stringify(said));
const { model, hear } = linked(traits, (said) => {
  ask(said);
  if (said.position) keepPlace();
});
const player = new Player(model, box);
player.hand = new Hand(player);
listen(player);
hearKeys(player);
player.drawer.attach(box.parentElement);
player.wire.then(() => go(given));

const desk = new Desk(player.drawer.sheet, fetched, place, ask);
const engine = new Engine(fetched, heard, failed);
engine.ask("open", { name: place.story, pack });
for (const name of ["setup", "break"]) {
  const pressed = ({ target }) => target.closest(`[data-do=${name}]`) && desk.begin();
  box.addEventListener("click", pressed);
}

function heard(said) {
  if (said === "live") arrived();
  else {
    const told = typeof said === "string" ? JSON.parse(said) : said;
    if (told.drawer !== undefined) desk.show(told.drawer);
    else if (told.search) desk.search(told.search);
    else if (told.inquire) desk.inquire(told.inquire);
    else if (told.halt) desk.halt();
    else if (told.link) keepRun(told.link);
    else hear(told);
  }
}

// The address says where one is. One that carries a run stays until one goes elsewhere: a player
// says its position once more when it has come to rest.
function keepPlace() {
  if (String(placeOf(player)) === place.linked) return;
  delete place.linked;
  history.replaceState(null, "", `#${placeOf(player)}`);
}

function keepRun(link) {
  place.linked = placeOf(player);
  history.replaceState(null, "", `#run=${link}`);
}

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

// A number names a branch of the story; what is none carries a run.
function go(named) {
  const run = named.get("run");
  if (run && !/^\d+$/.test(run)) ask({ setup: "linked", run });
  else follow(player, named);
}

addEventListener("hashchange", () => go(new URLSearchParams(location.hash.slice(1))));

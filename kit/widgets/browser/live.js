// The entry of a page whose engine runs beside it in a worker: the pack is shown at once, and what
// one presses before the engine is there waits for it.

import { follow, namedIn, placeOf } from "./address.js";
import { hearKeys } from "./alone.js";
import { Engine } from "./engine.js";
import { Seat } from "./seat.js";

const part = (id) => document.getElementById(id);
const box = part("player");
const place = document.body.dataset;
const given = namedIn();
const pack = new Uint8Array(await (await fetch(place.pack)).arrayBuffer());
// A page that is one file has in it what others fetch.
const fetched = (name) => {
  const held = part(name);
  const beside = () => new URL(name, new URL(place.engine, location.href));
  return fetch(held ? `data:;base64,${held.textContent}` : beside());
};
const ask = (said) => engine.ask("said", JSON.stringify(said));
// What the page has of itself: the history as it was stored, and what the address says beside a run
// that is under way, before which nothing else is done. Without an engine it stays so: the address
// is kept, and leads there when the page is loaded again.
let stored;
let opening;
const seat = new Seat(box, { pack, shell: box.innerHTML, story: false }, fetched, place, (said) => {
  ask(said);
  if (said.position) keepPlace();
});
const { player } = seat;
seat.linked = keepRun;
hearKeys(player);
player.wire.then(() => {
  stored = nowHeld();
  go(given);
});

const engine = new Engine(fetched, heard, failed);
engine.ask("open", { name: place.story, pack });

// The drawer is drawn again once it has done what it was asked.
function heard(said) {
  if (said === "live") {
    arrived();
    return;
  }
  seat.hear(said);
  if (!opening || place.is !== "live" || typeof said !== "string") return;
  if (JSON.parse(said).drawer !== undefined) player.wire.then(opened);
}

function nowHeld() {
  return `${player.wire.session} ${player.store.moments.length}`;
}

// The address says where one is, and carries the run where the page does not have it stored: so it
// comes again when the page is loaded again. One that carries a run stays until one goes elsewhere:
// a player says its position once more when it has come to rest.
function keepPlace() {
  if (opening || String(placeOf(player)) === place.linked) return;
  delete place.linked;
  if (nowHeld() === stored) history.replaceState(null, "", `#${placeOf(player)}`);
  else {
    place.linked = placeOf(player);
    ask({ setup: "link", quiet: true });
  }
}

// A run of the story as it was stored comes as its number, with the step.
function keepRun({ link, step, quiet }) {
  const named = placeOf(player);
  if (!quiet) place.linked = named;
  named.set("run", link);
  if (step === undefined) named.delete("step");
  else named.set("step", step);
  history.replaceState(null, "", `#${named}`);
}

function arrived() {
  place.is = "live";
  if (opening) return; // what comes of it has the position, too
  part("engine").textContent = place.live;
  seat.arrived();
}

function opened() {
  const named = opening;
  if (!named) return;
  opening = undefined;
  box.inert = false;
  follow(player, named);
  place.linked = placeOf(player);
  part("engine").textContent = place.live;
}

function failed(why) {
  place.is = "failed";
  box.inert = false;
  tellFailed();
  seat.failed(place.failed);
  console.error(why);
}

function tellFailed() {
  part("engine").textContent = opening ? place.lost : place.failed;
}

// A number names a branch of the story; what is none carries a run.
function go(named) {
  const run = named.get("run");
  const isOwn = run && !/^\d+$/.test(run);
  opening = isOwn ? named : undefined;
  if (place.is === "failed") tellFailed();
  if (!isOwn) {
    follow(player, named);
    return;
  }
  named.delete("run");
  if (place.is === "failed") return;
  box.inert = true;
  part("engine").textContent = place.opening;
  ask({ setup: "linked", run });
}

addEventListener("hashchange", ({ newURL }) => go(namedIn(newURL)));

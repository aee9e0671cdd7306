// The entry of a lesson: each of its Players is a stored picture first, then a Player that steps
// what was drawn for it. Whoever presses something in one starts the engine, one for all of them.

import { Answers } from "./answers.js";
import { Engine } from "./engine.js";
import { Seat } from "./seat.js";

const place = document.body.dataset;
const status = document.getElementById("engine");
const shell = document.getElementById("shell").innerHTML;
const fetched = (name) => fetch(new URL(name, new URL(place.engine, location.href)));
const given = new URLSearchParams(location.hash.slice(1));
const seats = [];
let engine;

async function seated(box, number) {
  const { pack: file, about } = box.dataset;
  const pack = new Uint8Array(await (await fetch(file)).arrayBuffer());
  const { story } = JSON.parse(about);
  const told = (said) => seat.isOpen && ask(said);
  const ask = (said) => engine.ask("heard", { number, text: JSON.stringify(said) });
  const seat = new Seat(box.querySelector(".place"), { pack, shell, story }, fetched, place, told);
  const { player } = seat;
  seats[number] = seat;
  seat.begin = () => {
    if (seat.isOpen) return;
    seat.isOpen = true;
    begin();
    engine.ask("part", { number, about, pack });
    player.wire.then(() => player.wire.look(player.at, player.tip));
  };
  seat.linked = (run) => history.replaceState(null, "", `#part=${number}&run=${run}`);
  for (const pressed of ["pointerdown", "keydown"])
    box.addEventListener(pressed, seat.begin, { capture: true });
  box.dataset.is = "seated";
  if (given.get("part") !== String(number) || !given.get("run")) return;
  box.scrollIntoView();
  seat.begin();
  ask({ setup: "linked", run: given.get("run") });
}

function begin() {
  if (engine) return;
  status.textContent = place.starts;
  engine = new Engine(fetched, heard, failed);
}

function heard([number, said]) {
  if (said !== "live") return seats[number].hear(said);
  place.is = "live";
  status.textContent = place.live;
  seats[number].arrived();
}

function failed(why) {
  place.is = "failed";
  status.textContent = place.failed;
  for (const seat of seats) seat?.failed(place.failed);
  console.error(why);
}

document.querySelectorAll(".kit-player").forEach(seated);
new Answers(document.querySelectorAll(".answer"), fetched, place);

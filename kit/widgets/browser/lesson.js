// The entry of a lesson: each of its Players is a stored picture first, then a Player that steps
// what was drawn for it. Whoever presses something in one starts the engine, one for all of them. A
// run of one's own comes again when the page is loaded again.

import { namedIn, refusal, strange } from "./address.js";
import { Answers } from "./answers.js";
import { Engine } from "./engine.js";
import { remember, remembered } from "./memory.js";
import { Seat } from "./seat.js";

const place = document.body.dataset;
const status = document.getElementById("engine");
const shell = document.getElementById("shell").innerHTML;
const fetched = (name) => fetch(new URL(name, new URL(place.engine, location.href)));
const seats = [];
let engine;
let lost; // what is said without an engine, where a run was to be shown

async function seated(box, number) {
  const { pack: file, about } = box.dataset;
  const pack = new Uint8Array(await (await fetch(file)).arrayBuffer());
  const { story } = JSON.parse(about);
  const told = (said) => {
    if (!seat.isOpen) return;
    ask(said);
    if (said.position) ask({ setup: "link", quiet: true });
  };
  const ask = (said) => engine.ask("heard", { number, text: JSON.stringify(said) });
  const seat = new Seat(box.querySelector(".place"), { pack, shell, story }, fetched, place, told);
  const { player } = seat;
  seats[number] = seat;
  seat.begin = () => {
    if (seat.isOpen) return;
    seat.isOpen = true;
    begin();
    engine.ask("part", { number, about, pack });
    player.wire.then(() => player.wire.look());
  };
  const kept = `kit-run ${location.pathname} ${number}`;
  seat.linked = ({ link, step, quiet }) => {
    if (quiet) remember(kept, step === undefined ? link : null);
    else history.replaceState(null, "", `#part=${number}&run=${link}`);
  };
  seat.open = (run) => {
    seat.begin();
    lost = place.lost;
    if (place.is === "failed") status.textContent = lost;
    ask({ setup: "linked", run });
  };
  for (const pressed of ["pointerdown", "keydown", "click"])
    box.addEventListener(pressed, seat.begin, { capture: true });
  box.dataset.is = "seated";
  const run = remembered(kept);
  if (run && !isLinked(number)) seat.open(run);
}

// Whether the address has a run for a part, which then shows that.
function isLinked(number) {
  const named = namedIn();
  return named.get("part") === String(number) && named.has("run");
}

// What an address says: a part, and a run in it. A heading of the text is for the browser.
function go({ newURL } = {}) {
  if (document.querySelector(":target")) return;
  const named = namedIn(newURL);
  const [number, run] = ["part", "run"].map((field) => named.get(field));
  const wrong = strange(named, ["part", "run"]);
  const seat = /^\d+$/.test(number) && seats[number];
  if (seat) {
    boxes[number].scrollIntoView();
    if (run) seat.open(run);
  } else if (number !== null || run !== null) {
    const allowed = `a number from 0 to ${boxes.length - 1}`;
    wrong.push(refusal(named, "part", allowed));
  }
  document.getElementById("note").textContent = wrong.join(" ");
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
  status.textContent = lost ?? place.failed;
  for (const seat of seats) seat?.failed(place.failed);
  console.error(why);
}

const boxes = [...document.querySelectorAll(".kit-player")];
Promise.allSettled(boxes.map(seated)).then(() => go());
addEventListener("hashchange", go);
new Answers(document.querySelectorAll(".answer"), fetched, place);

// The entry of a drill: a Player and a terminal over one history. What is typed before the engine
// is there waits for it. What was done is done again when the page is loaded again, unless one
// begins again; the engine says what that is, so that nothing is kept of what had no effect.

import { Engine } from "./engine.js";
import { linked } from "./linked.js";
import { remember, remembered } from "./memory.js";
import { Seat } from "./seat.js";
import { openTerminal } from "./terminal.js";

const part = (id) => document.getElementById(id);
const place = document.body.dataset;
const fetched = (name) => fetch(new URL(name, new URL(place.engine, location.href)));
const ask = (said) => engine.ask("heard", { number: 0, text: JSON.stringify(said) });
const pack = new Uint8Array(await (await fetch(place.pack)).arrayBuffer());
const [box, el] = [part("player"), part("terminal")];
const seat = new Seat(box, { pack, shell: box.innerHTML, story: false }, fetched, place, ask);
const kept = `kit-drill ${place.drill}`;
const done = remembered(kept);
const typed = linked({ ...JSON.parse(place.parts), shell: el.innerHTML }, ask);
part("again").addEventListener("click", () => remember(kept, null));
openTerminal({ model: typed.model, el });
const engine = new Engine(fetched, heard, failed);
engine.ask("part", { number: 0, about: JSON.stringify(place.drill), pack });
if (done) ask({ again: done });

function heard([, said]) {
  if (said === "live") {
    place.is = said;
    part("engine").textContent = place.live;
    seat.arrived();
    return;
  }
  const told = typeof said === "string" ? JSON.parse(said) : said;
  if (told.terminal) {
    part("room").classList.toggle("kit-unasked", !told.hinted);
    typed.hear({ traits: told.terminal });
  } else if (told.answer) typed.hear(told.answer);
  else if (told.kept) remember(kept, told.kept);
  else seat.hear(told);
}

function failed(why) {
  place.is = "failed";
  part("engine").textContent = place.failed;
  seat.failed(place.failed);
  console.error(why);
}

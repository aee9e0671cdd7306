// The page of a seat: it says what was typed and pressed, and shows what its node may see.
// All HTML comes from the kit's escaping builder.

import { connect, focusOn, replace, tell } from "./line.js";
import { remember, remembered } from "./memory.js";

const part = (id) => document.getElementById(id);
const TICKET = "ticket"; // by which one comes back to the seat
let ticket = remembered(TICKET); // a line that was cut comes back where the browser keeps nothing
let code, step; // a code is said again, unless it was wrong
let section = "door";

const line = connect("seat", { opened, hear: (data) => hear(JSON.parse(data)) });

function opened() {
  if (ticket) line.say({ say: "return", ticket });
  else if (code) line.say({ say: "enter", code });
}

// What was wrong is told until something else is tried, or another section is shown.
function say(message) {
  if (line.say(message)) tell("");
}

function hear(told) {
  if ("ticket" in told) keep(told.ticket);
  if ("out" in told) keep(null);
  if ("nodes" in told) put("nodes", told.nodes);
  if ("html" in told) {
    step = told.step;
    put("seen", told.html);
  }
  if ("show" in told) turnTo(told.show);
  if ("wrong" in told) {
    if (section === "door") code = undefined;
    tell(told.wrong);
  }
}

function keep(value) {
  ticket = value;
  remember(TICKET, ticket);
}

function turnTo(name) {
  if (name === section) return;
  const had = part(section).contains(document.activeElement);
  section = name;
  for (const id of ["door", "nodes", "node"]) part(id).hidden = id !== name;
  tell(ticket && !remembered(TICKET) ? document.body.dataset.unkept : "");
  if (had) focusOn(part(name).querySelector("input,h2"));
}

// Nothing moves below a finger: what came meanwhile is shown once it is lifted.
const waiting = new Map();
let isDown = false;

function put(id, html) {
  waiting.set(id, html);
  if (!isDown) paint();
}

function paint() {
  for (const [id, html] of waiting) replace(part(id), html);
  waiting.clear();
  part("seen").dataset.step = step;
}

document.addEventListener("pointerdown", () => (isDown = true));
for (const end of ["pointerup", "pointercancel"])
  document.addEventListener(end, () => {
    isDown = false;
    setTimeout(paint); // after the click
  });

part("door").addEventListener("submit", (event) => {
  event.preventDefault();
  code = part("code").value; // if the line is not open yet, it is said then
  say({ say: "enter", code });
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.node) say({ say: "sit", node: button.dataset.node });
  if (button?.dataset.act) say({ say: "press", act: button.dataset.act });
  if (button?.id === "leave") say({ say: "leave" });
});

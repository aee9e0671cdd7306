// The page of a seat: it says what was typed and pressed, and shows what its node may see.
// All HTML comes from the kit's escaping builder.

const part = (id) => document.getElementById(id);
const TICKET = "ticket"; // by which one comes back to the seat
const LATER = 2000; // milliseconds until a line that was cut is tried again
let line, code, step;

function connect() {
  line = new WebSocket(new URL("seat", location.href.replace(/^http/, "ws")));
  line.onopen = () => {
    tell("");
    const ticket = sessionStorage.getItem(TICKET);
    if (ticket) say({ say: "return", ticket });
    else if (code) say({ say: "enter", code });
  };
  line.onmessage = ({ data }) => hear(JSON.parse(data));
  line.onclose = () => {
    tell(document.body.dataset.cut);
    setTimeout(connect, LATER);
  };
}

function say(message) {
  if (line.readyState === WebSocket.OPEN) line.send(JSON.stringify(message));
}

function hear(told) {
  if ("wrong" in told) tell(told.wrong);
  if ("ticket" in told) sessionStorage.setItem(TICKET, told.ticket);
  if ("out" in told) sessionStorage.removeItem(TICKET);
  if ("nodes" in told) put("nodes", told.nodes);
  if ("html" in told) {
    step = told.step;
    put("seen", told.html);
    tell("");
  }
  if ("show" in told) for (const id of ["door", "nodes", "node"]) part(id).hidden = id !== told.show;
}

// What is the same stays as it is, and nothing moves below a finger: what came meanwhile is shown
// once it is lifted. Where the focus was is where it stays.
const shown = {};
const waiting = new Map();
let isDown = false;

function put(id, html) {
  waiting.set(id, html);
  if (!isDown) paint();
}

function paint() {
  for (const [id, html] of waiting) {
    if (shown[id] === html) continue;
    shown[id] = html;
    const { act, node } = document.activeElement?.dataset ?? {};
    part(id).innerHTML = html;
    const same = act ? `[data-act="${act}"]` : node && `[data-node="${CSS.escape(node)}"]`;
    if (same) part(id).querySelector(same)?.focus();
  }
  waiting.clear();
  part("seen").dataset.step = step;
}

document.addEventListener("pointerdown", () => (isDown = true));
for (const end of ["pointerup", "pointercancel"])
  document.addEventListener(end, () => {
    isDown = false;
    setTimeout(paint); // after the click
  });

function tell(words) {
  if (part("wrong").textContent !== words) part("wrong").textContent = words;
}

part("door").addEventListener("submit", (event) => {
  event.preventDefault();
  code = part("code").value;
  say({ say: "enter", code });
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.node) say({ say: "sit", node: button.dataset.node });
  if (button?.dataset.act) say({ say: "press", act: button.dataset.act });
  if (button?.id === "leave") say({ say: "leave" });
});
connect();

// The page on the wall: the Player of the notebook, on a line of its own to the room.

import widget from "./player.js";

const part = (id) => document.getElementById(id);
const heard = {};
const traits = { ...document.body.dataset, live: true, plays: false, steps: 0, story: false };
traits.shell = part("player").innerHTML;
const model = {
  get: (name) => traits[name],
  set: (name, value) => (traits[name] = value),
  on: (name, hear) => (heard[name] = [...(heard[name] ?? []), hear]),
  off: (name, hear) => (heard[name] = (heard[name] ?? []).filter((one) => one !== hear)),
  send: (content) => line.send(JSON.stringify(content)),
};
const call = (name, given) => (heard[name] ?? []).forEach((hear) => hear(given));

const line = new WebSocket(new URL("wall", location.href.replace(/^http/, "ws")));
line.binaryType = "arraybuffer";
line.onopen = () => line.send(JSON.stringify({ key: location.hash.slice(1) }));
line.onclose = () => (part("wrong").textContent = document.body.dataset.cut);
line.onmessage = ({ data }) => {
  if (data instanceof ArrayBuffer) {
    const isFirst = !traits.pack;
    traits.pack = new DataView(data);
    if (isFirst) widget.render({ model, el: part("player") });
    else call("change:pack");
    return;
  }
  const told = JSON.parse(data);
  if ("head" in told) part("head").innerHTML = told.head;
  else if ("traits" in told) Object.assign(traits, told.traits);
  else call("msg:custom", told);
};
document.addEventListener("click", ({ target }) => {
  const node = target.closest("#head button")?.dataset.node;
  if (node) line.send(JSON.stringify({ free: node }));
});

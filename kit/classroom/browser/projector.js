// The page on the wall: the Player of the notebook, on a line of its own to the room.

import { linked } from "./linked.js";
import widget from "./player.js";

const part = (id) => document.getElementById(id);
const traits = { ...document.body.dataset, live: true, plays: false, steps: 0, story: false };
traits.shell = part("player").innerHTML;
const { model, hear } = linked(traits, (content) => line.send(JSON.stringify(content)));

const line = new WebSocket(new URL("wall", location.href.replace(/^http/, "ws")));
line.binaryType = "arraybuffer";
line.onopen = () => line.send(JSON.stringify({ key: location.hash.slice(1) }));
line.onclose = () => (part("wrong").textContent = document.body.dataset.cut);
line.onmessage = ({ data }) => {
  if (data instanceof ArrayBuffer) {
    const isFirst = !traits.pack;
    hear(new DataView(data));
    if (isFirst) widget.render({ model, el: part("player") });
    return;
  }
  const told = JSON.parse(data);
  if ("head" in told) part("head").innerHTML = told.head;
  else hear(told);
};
document.addEventListener("click", ({ target }) => {
  const node = target.closest("#head button")?.dataset.node;
  if (node) line.send(JSON.stringify({ free: node }));
});

// The page on the wall: the Player of the notebook, on a line of its own to the room.

import { hearKeys } from "./alone.js";
import { connect, replace, tell } from "./line.js";
import { linked } from "./linked.js";
import widget from "./player.js";

const part = (id) => document.getElementById(id);
const traits = { ...document.body.dataset, live: true, plays: false, steps: 0, story: false };
traits.shell = part("player").innerHTML;
const { model, hear } = linked(traits, (content) => line.say(content));

const opened = () => line.say({ key: location.hash.slice(1) });
const line = connect("wall", { opened, hear: heard, once: true });

function heard(data) {
  if (data instanceof ArrayBuffer) {
    const isFirst = !traits.pack;
    hear(new DataView(data));
    if (isFirst) {
      widget.render({ model, el: part("player") });
      const root = part("player").querySelector(".kp");
      hearKeys({ root });
      // The address, the code and the seats stay above what is shown in large type.
      root.requestFullscreen = () => part("wall").requestFullscreen();
    }
    return;
  }
  const told = JSON.parse(data);
  if ("wrong" in told) tell(told.wrong);
  else if ("head" in told) replace(part("head"), told.head);
  else hear(told);
}

document.addEventListener("click", ({ target }) => {
  const node = target.closest("#head button")?.dataset.node;
  if (node) line.say({ free: node });
});

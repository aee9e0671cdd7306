// The entry in JupyterLab: anywidget calls render for each view of the widget.

import { listen } from "./controls.js";
import { Hand } from "./hand.js";
import { Keeper } from "./keeping.js";
import { calm } from "./motion.js";
import { Player } from "./player.js";
import { NOTEBOOK, Room } from "./room.js";

function render({ model, el }) {
  const player = new Player(model, el);
  player.hand = new Hand(player);
  listen(player);
  const room = new Room();
  const keeper = new Keeper(player, model);
  if (model.get("plays") && !calm.matches) player.wire.then(() => player.start());
  const around = requestAnimationFrame(() => {
    const box = el.closest(".kit-player");
    quieten(box);
    room.give(player.root, el.closest(`.kit-drill,${NOTEBOOK}`));
    player.drawer.attach(box);
  });
  return () => {
    cancelAnimationFrame(around);
    room.close();
    keeper.close();
    player.close();
  };
}

// JupyterLab acts on single letters also while one types into the controls in the drawer.
function quieten(box) {
  box?.addEventListener("keydown", (event) => {
    const isModified = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (!isModified && event.key !== "Tab" && event.key !== "Escape") event.stopPropagation();
  });
}

export default { render };

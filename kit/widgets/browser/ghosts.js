// Bets in the picture: a ghost on each thing that was chosen, and what became of it.

import { bounds } from "./motion.js";
import { partsOf, withKey } from "./picture.js";

export class Ghosts {
  constructor(root) {
    this.root = root;
  }

  // Signs by things; those that were there go.
  put(bets) {
    const layer = this.root.querySelector(".kp-flows");
    for (const old of layer.querySelectorAll(".kp-ghost")) old.remove();
    const outer = bounds(layer);
    for (const [thing, sign] of bets) {
      const picture = this.root.querySelector(".kp-stage .kp-picture");
      const part = picture?.querySelector([partsOf(thing), withKey(thing)]);
      if (!part) continue;
      const { x, y, width } = bounds(part);
      const ghost = document.createElement("b");
      ghost.className = "kp-ghost";
      ghost.dataset.sign = ghost.textContent = sign;
      ghost.style.translate = `${x + width - outer.x - 12}px ${y - outer.y - 12}px`;
      layer.append(ghost);
    }
  }
}

// What became of each bet: kept, lost, or not made.
export function settled(boxes) {
  const right = (box) => box.hasAttribute("data-right");
  const sign = (box) => (right(box) ? (box.checked ? "✓" : "○") : "✗");
  return boxes
    .filter((box) => box.dataset.thing && (box.checked || right(box)))
    .map((box) => [box.dataset.thing, sign(box)]);
}

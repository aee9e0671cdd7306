// What lies over the panels: one sheet at a time; Escape closes it and gives the focus back.

import { all, QUIET } from "./picture.js";

const OPEN = "details.kp-pop[open]";
const KEPT = ".kp-sheet,.kp-pop>summary,.kp-track,.kp-stepper"; // clicks that close none

export class Sheets {
  constructor(player) {
    const { root } = player;
    Object.assign(this, { player, root });
    const toggled = ({ target }) => {
      if (!target.matches(OPEN)) return;
      this.close(target);
      player.begun();
    };
    root.addEventListener("toggle", toggled, true);
  }

  // Close all but one; tell whether any was open, and give the focus back where it came from.
  close(kept) {
    const open = all(this.root, OPEN).filter((one) => one !== kept);
    for (const one of open) {
      const within = one.contains(document.activeElement);
      one.open = false;
      const back = one.matches(".kp-tables") ? this.root.querySelector(".kp-more") : one;
      if (within) back.firstChild.focus(QUIET);
    }
    const { help, drawer } = this.player;
    const helped = kept !== help && !help.hidden;
    if (helped) this.player.toggleHelp();
    const drawn = kept !== drawer && drawer.isOpen;
    if (drawn) drawer.toggle();
    return this.player.film.toggle(false) || open.length > 0 || helped || drawn;
  }

  // Open one, with the focus in its box to search.
  open(name) {
    const one = this.root.querySelector(`.kp-stage ${name}`);
    if (!one) return;
    one.open = true;
    one.querySelector("input,button")?.focus(QUIET);
  }

  // A click beside a sheet closes it; time goes on under an open one. A mode closes its own.
  clicked(target) {
    if (!target.closest(KEPT)) this.close();
    if (!target.closest(".kp-modes>button")) return;
    const more = target.closest("details");
    more.open = false;
    more.firstChild.focus(QUIET);
  }
}

// What the player says: in a note beside what was used, and to readers who listen.

import { bounds } from "./motion.js";

const PAUSE = 350; // milliseconds: of many fast steps only the last is spoken
const MARGIN = 8;

export class Voice {
  constructor(root, part) {
    Object.assign(this, { root, part, note: part("note"), spoken: part("live") });
  }

  speak(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.spoken.textContent = text;
    }, PAUSE);
  }

  // Show a note below the control that was used, or else right above the actions: where time is
  // moved, by a button or a key, it covers no control.
  tell(text, control) {
    const { note } = this;
    note.textContent = text;
    note.hidden = false;
    const there = control?.isConnected;
    const frame = bounds(this.root);
    const box = bounds(there ? control : this.part("acts"));
    const room = frame.width - note.offsetWidth - MARGIN;
    note.style.left = `${Math.max(MARGIN, Math.min(box.left - frame.left, room))}px`;
    note.style.top = `${(there ? box.bottom + 6 : box.top - note.offsetHeight) - frame.top}px`;
    this.speak(text);
  }

  hush() {
    this.note.hidden = true;
  }
}

// The drawer with the model, its parameters and safeguards, the search and the files. Its controls
// are the notebook's own; here it is only laid over the pane, opened and closed.

import { CUT } from "./frames.js";
import { bounds } from "./motion.js";
import { QUIET } from "./picture.js";

export class Drawer {
  isOpen = false;

  constructor(player) {
    this.player = player;
    this.button = player.control("setup");
    this.watch = new ResizeObserver(() => this.place());
  }

  attach(box) {
    this.box = box;
    this.sheet = box?.querySelector(".kit-drawer");
    this.button.hidden = !this.sheet;
    if (!this.sheet) return;
    this.watch.observe(this.player.part("board"));
    this.told = new MutationObserver(() =>
      this.sheet.querySelector(".kit-wrong")?.scrollIntoView({ block: "nearest" }),
    );
    this.told.observe(this.sheet, { childList: true, subtree: true });
    this.sheet.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isOpen) this.toggle();
    });
  }

  close() {
    this.watch.disconnect();
    this.told?.disconnect();
  }

  toggle() {
    if (!this.sheet) return;
    if (this.player.wire.isCut && !this.isOpen) {
      this.player.voice.tell(CUT, this.button);
      return;
    }
    this.isOpen = !this.isOpen;
    this.player.press("setup", this.isOpen);
    this.sheet.toggleAttribute("data-my-open", this.isOpen);
    this.place();
    if (!this.isOpen) this.player.part("more").firstChild.focus(QUIET);
    else this.sheet.querySelector("select,input,button")?.focus(QUIET);
  }

  // Over the words; over the lower half of a narrow board.
  place() {
    if (!this.isOpen) return;
    const outer = bounds(this.box);
    const board = bounds(this.player.part("board"));
    const words = bounds(this.player.part("said"));
    const { style } = this.sheet;
    const wide = Math.max(words.width, Math.min(400, board.width));
    style.left = `${board.right - wide - outer.left}px`;
    style.top = `${words.top - outer.top}px`;
    style.width = `${wide}px`;
    style.height = `${Math.max(board.bottom - words.top - 60, 340)}px`;
  }
}

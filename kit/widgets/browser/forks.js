// The branches as a map on the time bar: a line for each, from where it leaves another one, named
// by what it does there. A press goes there; one that is dragged on another is compared with it.

import { leavesOf, marksOf, nameOf } from "./branches.js";
import { bounds, FAR } from "./motion.js";
import { captioned } from "./paper.js";

const TARGETS = ".kp-fork,.kp-time,.kp-picture"; // on which a line can be dropped

export class Forks {
  constructor(player) {
    this.player = player;
    this.box = player.part("map");
    this.peek = player.part("peek");
    const { box } = this;
    for (const name of ["pointerover", "focusin"])
      box.addEventListener(name, ({ target }) =>
        this.preview(target.closest("[data-do=show]")?.parentNode));
    for (const name of ["pointerleave", "focusout"])
      box.addEventListener(name, () => this.preview());
    box.addEventListener("pointerdown", (event) => this.take(event));
    // A quick hand leaves the map in one move.
    player.root.addEventListener("pointermove", (event) => this.drag(event));
    box.addEventListener("pointerup", () => this.drop());
    box.addEventListener("pointercancel", () => this.drop(false));
  }

  show() {
    const { store, tip, other, full, range, bar } = this.player;
    const state = [store.moments.length, tip, other, full.length, range.max, bar.width].join();
    if (state === this.state) return;
    this.state = state;
    const { leaf, do: action } = this.box.contains(document.activeElement)
      ? document.activeElement.dataset : {};
    this.draw();
    if (leaf) this.focus(leaf, action);
  }

  // The line of a leaf, or else the first, or else the slider.
  focus(leaf, action = "show") {
    const name = (one) => this.box.querySelector(`${one}[data-do=${action}]`);
    (name(`[data-leaf="${leaf}"]`) || name("") || this.player.range).focus();
  }

  draw() {
    const { player } = this;
    const { store, tip, full } = player;
    const leaves = leavesOf(store.moments, tip).filter((leaf) => leaf !== tip);
    const bases = [full];
    this.preview();
    this.box.replaceChildren();
    this.box.hidden = !leaves.length;
    player.part("board").style.setProperty("--forks", leaves.length);
    for (const leaf of leaves) {
      const path = player.fullPath(leaf);
      const shared = bases.map((base) => path.findIndex((id, i) => id !== base[i]));
      const from = shared.indexOf(Math.max(...shared));
      this.box.append(this.line(path, bases[from], shared[from], bases.length - from));
      bases.push(path);
    }
  }

  line(path, base, first, up) {
    const { store, bar, other } = this.player;
    const leaf = path.at(-1);
    const { middles = [] } = bar;
    const place = (step) => `${middles[Math.min(step, middles.length) - 1] ?? 0}px`;
    const isBroken = marksOf(path, store.moments, "broken").some(Boolean);
    const root = store.moments[leaf].root;
    const isWell = !isBroken && root !== null && "well" in store.template(root).dataset;
    const row = document.createElement("div");
    row.className = "kp-fork";
    row.leaf = leaf;
    const begun = Math.max(0, first - 1);
    row.style.cssText = `--x:${place(begun)};--end:${place(path.length - 1)};--up:${up}`;
    const name = nameOf(path, base, first, store.moments);
    const sign = isBroken ? "!" : isWell ? "✓" : "";
    const how = isBroken ? "a promise broke" : isWell ? "ended well" : "";
    const steps = path.length - 1;
    const label = [`go to: ${name}`, `${steps} step${steps === 1 ? "" : "s"}`, how];
    row.append(
      document.createElement("i"),
      pressed("show", leaf, name, label.filter(Boolean).join(", "), sign),
      pressed("compare", leaf, "⇄", `compare with: ${name}`),
    );
    row.lastChild.ariaPressed = leaf === other;
    return row;
  }

  // Where a line leads: the picture of its end, and what happened there.
  preview(row) {
    const { peek, player } = this;
    if (row && row === this.seen && !peek.hidden) return;
    this.seen = row;
    peek.hidden = true;
    if (!row || this.held) return;
    const { leaf } = row;
    if (player.store.moments[leaf].root === null) {
      player.wire.need(leaf); // to be seen the next time
      return;
    }
    peek.replaceChildren(captioned(player, leaf, player.fullPath(leaf).length - 1));
    peek.hidden = false;
    const [outer, inner] = [player.part("board"), row.children[1]].map(bounds);
    const left = (100 * (inner.left - outer.left)) / outer.width;
    peek.style.left = `min(${left}%,100% - ${peek.offsetWidth}px)`;
    peek.style.top = `${this.box.offsetTop + this.box.offsetHeight}px`;
  }

  // -- one that is dragged on another

  take({ target, clientX, clientY, button }) {
    const line = target.closest(".kp-fork");
    if (line && !button) this.held = { line, x: clientX, y: clientY };
  }

  drag({ clientX, clientY, pointerId, buttons }) {
    const { held } = this;
    if (!held || !buttons) return;
    const [x, y] = [clientX - held.x, clientY - held.y];
    if (!held.isMoved && Math.hypot(x, y) < FAR) return;
    held.isMoved = true;
    this.preview();
    held.line.setPointerCapture(pointerId);
    held.line.setAttribute("data-my-held", "");
    held.line.style.translate = `${x}px ${y}px`;
    const over = document.elementFromPoint(clientX, clientY)?.closest(TARGETS);
    this.over(this.player.root.contains(over) ? over : null);
  }

  over(part) {
    if (this.target === part) return;
    this.target?.removeAttribute("data-my-over");
    this.target = part;
    part?.setAttribute("data-my-over", "");
  }

  drop(on = true) {
    const { held, target, player } = this;
    this.held = undefined;
    this.over(null);
    if (!held?.isMoved) return;
    held.line.removeAttribute("data-my-held");
    held.line.style.translate = "";
    if (!on || !target) return;
    if (target.leaf) player.chooseBranch(target.leaf);
    player.compareWith(held.line.leaf);
  }
}

function pressed(action, leaf, words, ariaLabel, sign = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: words, ariaLabel });
  Object.assign(made.dataset, { do: action, leaf });
  const mark = document.createElement("b");
  mark.textContent = sign;
  mark.className = sign === "!" ? "bad" : "";
  if (sign) made.append(mark);
  return made;
}

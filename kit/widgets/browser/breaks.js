// A step that breaks a promise holds the run: the words beside the picture say what contradicts
// what; the picture stands still for a moment, then all but the culprits and the frame dims.

import { calm } from "./motion.js";
import { all, partsOf, QUIET, unmark, withKey } from "./picture.js";

const STILL = 700; // milliseconds
const FRAME = "[data-pinned],.legend"; // who is who, and what the marks mean

export class Breaks {
  constructor(player) {
    this.player = player;
    this.root = player.root;
  }

  get sheet() {
    return this.player.main.box.querySelector(".kp-break");
  }

  get words() {
    return this.sheet?.ariaLabel || "";
  }

  begin() {
    clearTimeout(this.timer);
    this.closed = this.shown = this.wanted = undefined;
    this.thaw();
  }

  // After each frame: whatever it breaks is shown, unless the reader closed it here.
  show(animated) {
    const { player, root, sheet } = this;
    clearTimeout(this.timer);
    this.thaw();
    this.dim([]);
    if (this.shown !== player.at) this.closed = this.wanted = undefined;
    this.shown = player.at;
    const isOpen = Boolean(sheet) && !this.closed;
    root.toggleAttribute("data-my-broken", isOpen);
    player.choices.blamed = isOpen ? this.blamed : [];
    player.choices.restoreLight();
    if (!isOpen) return;
    const signs = {};
    for (const { dataset } of all(sheet, "[data-cause],[data-loop]"))
      signs[dataset.cause || dataset.loop] = dataset.loop ? "∞" : "●";
    player.bar.mark(signs);
    if (animated && !calm.matches) this.freeze();
    else this.only();
    this.answered();
  }

  get blamed() {
    return JSON.parse(this.sheet.dataset.names);
  }

  // What moves in the picture stands still for a moment.
  freeze() {
    const { root } = this;
    const isSeen = ({ effect }) => effect.target.closest(".kp-picture,.kp-flows");
    const moving = root.getAnimations({ subtree: true }).filter(isSeen);
    for (const one of moving) one.pause();
    root.setAttribute("data-my-still", "");
    this.timer = setTimeout(() => this.thaw(), STILL);
    this.thawed = () => {
      for (const one of moving) if (one.playState === "paused") one.play();
      this.only();
    };
  }

  thaw() {
    const { thawed } = this;
    this.thawed = undefined;
    this.root.removeAttribute("data-my-still");
    if (this.sheet) thawed?.();
  }

  // What was asked for has been found: it is opened.
  answered() {
    const { sheet, wanted, root } = this;
    if (wanted === "break:why" && sheet.querySelector(".kp-cause")) {
      this.wanted = undefined;
      root.removeAttribute("data-my-why");
      this.why();
    }
    const found = wanted && this.player.main.box.querySelector(`[data-k="${wanted}"][data-leaf]`);
    if (!found) return;
    this.wanted = undefined;
    this.player.compareWith(Number(found.dataset.leaf));
  }

  // How far a search has come; nothing once it has ended.
  told(words) {
    if (this.sheet) this.sheet.querySelector(".kp-told").textContent = words;
    this.root.toggleAttribute("data-my-searching", words);
  }

  why(button) {
    const { player, root, sheet } = this;
    const cause = sheet?.querySelector(".kp-cause");
    if (cause) {
      root.toggleAttribute("data-my-why");
      cause.scrollIntoView({ block: "nearest" });
    } else if (sheet) player.act((this.wanted = "break:why"), button);
  }

  // Go to the step that broke it, and show what there is to say.
  open(moment) {
    this.player.sheets.close();
    this.closed = undefined;
    if (this.player.at === moment) this.show(false);
    else this.player.visit(moment);
  }

  // Tell whether it was open.
  close() {
    if (!this.root.hasAttribute("data-my-broken")) return false;
    const within = this.sheet.contains(document.activeElement);
    this.closed = true;
    this.show(false);
    if (within) this.player.range.focus(QUIET);
    return true;
  }

  // Show only what one node knows: its part of the picture, and the steps that it has seen.
  only() {
    const { value, dataset } = this.sheet.querySelector("option:checked") || { dataset: {} };
    this.dim(value ? JSON.parse(dataset.names) : this.blamed);
    for (const row of all(this.sheet, "[data-seen]"))
      row.hidden = value && !row.dataset.seen.split(" ").includes(value);
  }

  dim(names) {
    const { box } = this.player.main;
    if (this.isDim) unmark(box, "data-my-dim");
    const drawing = box.querySelector(".kp-picture .kp-scroll");
    const named = (name) => [partsOf(name), withKey(name)];
    const kept = drawing && names.length ? all(drawing, names.flatMap(named).join()) : [];
    this.isDim = kept.length > 0;
    if (this.isDim) fade(drawing, kept);
  }

  // The cause is here as text; the kernel is asked for that of the whole run.
  copy(button) {
    this.copier = button;
    if (button.closest(".kp-help")) this.player.act("mermaid", button);
    else this.copied();
  }

  copied(words) {
    const text = this.copier.nextElementSibling;
    if (words) text.textContent = words;
    getSelection().selectAllChildren(text);
    const told = document.execCommand("copy") ? "Copied." : "Copy the marked text by hand.";
    this.player.voice.tell(told, this.copier);
  }
}

function fade(part, kept) {
  for (const child of part.children) {
    if (kept.includes(child) || child.matches(FRAME)) continue;
    if (kept.some((one) => child.contains(one))) fade(child, kept);
    else child.setAttribute("data-my-dim", "");
  }
}

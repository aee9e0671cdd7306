// The picture: its size, and a walk through its parts.

import { thingAt } from "./choices.js";
import { bounds } from "./motion.js";
import { all, withKey } from "./picture.js";

// A stage may be a second picture beside the first.
export const PICTURES = ":is(.kp-picture,.kp-page:not([hidden]) .stage)";
const ROVE = "[data-roving]:not(.missing)"; // those at a gate are like all parts
const LEAST = 0.5;
const MOST = 6;
export const STEP = 1.25; // times larger

export class Spots {
  zoom = 1;
  walked = null;
  folded = new Set();

  constructor(player) {
    this.player = player;
    const { root } = player;
    root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    root.addEventListener("scroll", ({ target }) => pin(target), true);
  }

  get box() {
    return this.player.main.box.querySelector(".kp-picture");
  }

  resize(by) {
    this.zoom = by ? Math.min(MOST, Math.max(LEAST, this.zoom * by)) : 1;
    this.player.root.style.setProperty("--z", this.zoom); // BOARD in kit/views/styles.py
  }

  // Where a picture grows with the run and is larger than its slot, its newest part is in sight.
  follow(picture) {
    const drawing = picture.box.querySelector("[data-newest]");
    if (drawing) this.thin(drawing);
    const slot = drawing?.closest(".kp-scroll");
    if (!slot) return;
    const [x, y] = drawing.dataset.newest.split(" ").map(Number);
    slot.scrollLeft = scrolled(slot.scrollLeft, x * slot.scrollWidth, slot.clientWidth);
    slot.scrollTop = scrolled(slot.scrollTop, y * slot.scrollHeight, slot.clientHeight);
    pin(slot);
  }

  // A lane becomes a thin line, or is itself again.
  fold({ dataset: { lanes }, ownerSVGElement: drawing }) {
    if (!this.folded.delete(lanes)) this.folded.add(lanes);
    this.thin(drawing);
  }

  // What the chosen node has not heard of is away.
  thin(drawing) {
    const { value } = drawing.parentElement.querySelector("select") ?? {};
    const known = value && JSON.parse(drawing.dataset.known)[value];
    for (const part of all(drawing, "[data-lanes]")) {
      const lanes = part.dataset.lanes.split("|");
      part.toggleAttribute("hidden", part.dataset.since > known?.[lanes[0]]);
      const isThin = lanes.some((lane) => this.folded.has(lane));
      part.toggleAttribute("data-my-folded", isThin);
      if (part.matches("svg .who")) part.ariaPressed = isThin;
    }
  }

  // The wheel turns the page, unless the reader is in the picture.
  wheel(event) {
    const { box } = this;
    if (!box?.contains(event.target) || !box.contains(document.activeElement)) return;
    event.preventDefault();
    this.resize(event.deltaY < 0 ? STEP : 1 / STEP);
  }

  // To the next part of the pictures, or the one before: what takes no focus is lit and said.
  walk(by) {
    const parts = all(this.player.main.box, PICTURES).flatMap(stops);
    const at = parts.findIndex((one) =>
      this.walked ? one.dataset.k === this.walked : one === document.activeElement);
    const part = parts.at(at + by < -1 ? -1 : (at + by) % parts.length);
    if (!part) return;
    this.walked = part.matches(ROVE) ? null : part.dataset.k;
    if (!this.walked) return part.focus();
    this.thing = thingAt(part) || this.walked; // what is about nothing is lit itself
    part.scrollIntoView({ block: "nearest" });
    this.player.choices.point(this.thing);
    this.player.voice.tell(words(part), part);
  }

  // The part that was walked to stays lit.
  pin() {
    if (!this.walked) return;
    const part = this.player.main.box.querySelector(`svg ${withKey(this.walked)}`);
    if (!this.player.choices.light(this.thing) && part)
      this.player.menu.press(part.closest("[data-of]") || part, this.thing);
  }
}

// How far a slot of a size is scrolled for a part to be in sight; where it is, nothing moves.
function scrolled(now, part, size) {
  const seen = (part - now) / size;
  return seen > 0.5 && seen < 0.9 ? now : part - 0.75 * size;
}

// What is pinned stays at the left edge of a drawing that is scrolled, or at its top.
function pin(slot) {
  for (const part of all(slot, "svg [data-pinned]")) {
    const { ownerSVGElement: drawing } = part;
    const scale = bounds(drawing).width / drawing.viewBox.baseVal.width / slot.currentCSSZoom;
    const [left, top] = part.dataset.pinned ? [0, slot.scrollTop] : [slot.scrollLeft, 0];
    part.style.translate = `${left / scale}px ${top / scale}px`;
    const { right, bottom } = bounds(part.querySelector(".paper"));
    for (const one of all(drawing, "text:not([data-pinned] *)")) {
      const box = bounds(one); // what would be cut is not shown
      one.style.visibility = box.left < right && box.top < bottom ? "hidden" : "";
    }
  }
}

// The parts of a picture that take the focus, and its signs; else those that say something.
function stops(picture) {
  const leaf = (part) => !part.querySelector("[data-k]") && words(part);
  return picture.querySelector(ROVE)
    ? all(picture, `${ROVE},[data-of]:has(>title)`)
    : all(picture, "svg [data-k]").filter(leaf);
}

function words(part) {
  const title = part.querySelector("title")?.textContent;
  return title || part.getAttribute("aria-label") || part.textContent.trim();
}

// The hand: it takes a thing to a place, or draws a line between nodes. Which action that means the
// action says itself (data-hand). By keys the same: `m` takes up, arrows choose, Enter lets go.

import { thingAt } from "./choices.js";
import { middle, within } from "./flows.js";
import { bounds, FAR } from "./motion.js";
import { all, partsOf, unmark, withKey } from "./picture.js";

const NEXT = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class Hand {
  constructor(player) {
    this.player = player;
    const hear = (name, heard, how) => player.root.addEventListener(name, heard, how);
    hear("pointerdown", (event) => this.down(event));
    hear("pointermove", (event) => this.grip && this.move(event));
    hear("pointerup", () => this.grip && this.up());
    hear("pointercancel", () => this.release());
    hear("touchmove", (event) => this.grip && event.preventDefault(), { passive: false });
    // The click that ends a drag is no press.
    const isPress = ({ detail }) => !this.dropped || !detail;
    hear("click", (event) => isPress(event) || event.stopImmediatePropagation(), true);
  }

  // What may be done by hand now, as it stands among all actions: by which keys, and where it ends.
  get ways() {
    const { player } = this;
    const box = (this.box = player.spots.box);
    if (!box) return [];
    const part = (key) => box.querySelector(withKey(key));
    const node = (name) => box.querySelector(`.character${partsOf(name)}`);
    return all(player.main.box, ".actions [data-hand]").map((button) => {
      const [from, to] = JSON.parse(button.dataset.hand);
      const [parts, ends] = from.map
        ? [from, to].map((names) => names.map(node).filter(Boolean))
        : [[part(from)], [to ? part(to) : box]];
      const best = button.matches(".suggested");
      return { button, to, parts, ends, best, why: button.dataset.refused, isCut: from.map };
    }).filter(({ parts, ends }) => parts[0] && ends[0]);
  }

  down({ target, isPrimary, button, clientX: x, clientY: y }) {
    this.release();
    this.dropped = false;
    if (!isPrimary || button || target.closest("[data-act]") || !target.closest(".kp-picture"))
      return;
    const line = target.closest(".stage") && !thingAt(target) && [[x, y]];
    const ways = this.ways.filter(({ isCut, parts }) =>
      line ? isCut : !isCut && parts[0].contains(target));
    if (ways.length) this.grip = { ways, x, y, line };
  }

  move({ clientX: x, clientY: y, pointerId }) {
    const { grip, player } = this;
    const [right, down] = [x - grip.x, y - grip.y];
    if (!grip.isHeld) {
      if (Math.hypot(right, down) < FAR) return;
      player.root.setPointerCapture(pointerId);
      this.begin();
    }
    const { line, ways } = grip;
    if (line) {
      const { left, top } = bounds(player.root);
      line.push([x, y]);
      this.stroke(`M${line.map((spot) => [spot[0] - left, spot[1] - top]).join("L")}`);
      const fits = ways.filter(({ parts, ends }) => goesBetween(line, [parts, ends]));
      const least = Math.min(...fits.map(({ parts }) => parts.length));
      grip.fits = fits.filter(({ parts }) => parts.length === least);
    } else {
      const [part] = ways[0].parts;
      const spot = new DOMRect(x, y);
      const { a: scale } = part.getScreenCTM();
      part.style.translate = `${right / scale}px ${down / scale}px`;
      grip.fits = ways.filter(({ to, ends }) => within(spot, bounds(ends[0])) === Boolean(to));
    }
    this.over(grip.fits.length > 1 ? undefined : grip.fits[0]);
  }

  up() {
    this.dropped = this.grip.isHeld;
    if (this.dropped) this.drop(this.grip.fits);
    else this.release();
  }

  // By keys: take up what has the focus, was walked to or is lit; else what is suggested.
  take() {
    const { player, ways } = this;
    const { spots, choices } = player;
    const first = ways.find(({ best }) => best) || ways[0];
    if (!first) return player.voice.tell("You can move nothing here.");
    const { dataset } = document.activeElement;
    const named = [dataset.k, spots.walked, choices.lit, first.parts[0].dataset.k].filter(Boolean);
    const isAt = (name) => ({ dataset: { k, of } }) => name === k || name === of;
    const found = named.map((name) => ways.filter(({ parts }) => parts.some(isAt(name))));
    this.grip = { ways: found.find((some) => some.length) };
    this.begin();
    this.turn(0);
  }

  turn(by) {
    const { ways, at } = this.grip;
    const start = ways.find(({ best }) => best) || ways.find(({ why }) => !why) || ways[0];
    this.over(by ? ways.at((ways.indexOf(at) + by) % ways.length) : start);
  }

  // Whether a key was for what is held.
  key(key) {
    const { grip } = this;
    if (!grip?.isHeld) return false;
    if (key === "Escape") this.release();
    else if (key === "Enter" || key === " ") this.drop([grip.at]);
    else if (NEXT[key] && !grip.fits) this.turn(NEXT[key]);
    return true;
  }

  // Places light up, with a ghost where the suggested step leads.
  begin() {
    const { grip, player } = this;
    player.pause();
    player.menu.close();
    player.sheets.close();
    grip.isHeld = true;
    player.root.setAttribute("data-my-held", "");
    const sign = ({ why, best }) => (why ? "✗" : best ? "★" : "✓");
    const places = grip.ways.filter(({ isCut, to }) => !isCut && to);
    player.choices.ghosts.put(places.map((way) => [way.to, sign(way)]));
  }

  // What would be done here is lit and said, or why it may not be.
  over(way) {
    const { grip, player } = this;
    if (grip.at === way) return;
    grip.at = way;
    this.light([]);
    player.voice.hush();
    if (!way) return;
    const { button, isCut, parts, ends, to, why, best } = way;
    this.light(isCut ? parts : ends);
    const words = why || (best ? "suggested" : "possible");
    player.voice.tell(`${button.textContent}: ${words}`, to && !isCut ? ends[0] : undefined);
  }

  light(parts) {
    unmark(this.player.root, "data-my-over");
    for (const part of parts) part.setAttribute("data-my-over", "");
  }

  drop(ways) {
    const { menu, voice } = this.player;
    const [way, other] = ways;
    this.release();
    if (!way) voice.tell("That has no effect.");
    else if (other) menu.open(way.parts[0], "cut", [], ways.map(({ button }) => button));
    else if (way.why) voice.tell(way.why, way.ends[0]);
    else way.button.click();
  }

  release() {
    const { grip, player } = this;
    this.grip = null;
    if (!grip?.isHeld) return;
    for (const { parts } of grip.ways) parts[0].style.translate = "";
    player.root.removeAttribute("data-my-held");
    player.choices.ghosts.put([]);
    player.voice.hush();
    this.stroke("");
    this.light([]);
  }

  stroke(way) {
    this.player.part("stroke").firstChild.setAttribute("d", way);
  }
}

// Whether a line goes between all of one group and all of the other.
function goesBetween(line, groups) {
  const at = (node) => middle(node.querySelector(".head"));
  const [one, two] = groups.map((group) => group.map(at));
  const crossings = (a, b) => line.filter((end, i) => {
    const begin = line[i - 1] || end;
    return side(begin, end, a) !== side(begin, end, b) && side(a, b, begin) !== side(a, b, end);
  });
  return one.every((a) => two.every((b) => crossings(a, b).length % 2));
}

// Whether a third spot is on the left of the way from one to another.
function side([ax, ay], [bx, by], [cx, cy]) {
  return (bx - ax) * (cy - ay) > (by - ay) * (cx - ax);
}

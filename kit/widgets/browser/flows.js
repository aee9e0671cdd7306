// What travels in a step, shown over the picture once the step is shown: a marker goes from one
// keyed part to another. A reader who wants no motion has the trails of the picture itself. The
// list of a step and the markers are drawn by kit/views/frame.py.

import { bounds, calm } from "./motion.js";
import { all, withKey } from "./picture.js";

const LEGS = [900, 450, 300, 225]; // milliseconds a leg, where there are one, two, three, four
const MOST_DRAWN = 64;
const MOST_LABELLED = 12;
const MOST_SPOKEN = 6;
const BENDS = 12; // pieces of a way round a centre
const BELOW = 22; // of labels
const EDGE = 70; // from the edge, within which a label is beside its marker
// What travelled on the way from one moment to a later one; nothing where that is no way on.
export function travelled(from, to, moments) {
  const lists = [];
  let id = to;
  for (; id > from; id = moments[id].parent) lists.push(moments[id].flows);
  return id === from ? lists.reverse().filter((list) => list !== null) : [];
}

export class Flows {
  shown = [];
  animations = [];

  constructor(root, picture) {
    this.root = root;
    this.picture = picture;
    this.layer = root.querySelector(".kp-flows");
    this.markers = new Map(all(this.layer, "svg").map((one) => [one.dataset.kind, one]));
    this.layer.replaceChildren();
    for (const name of ["keydown", "pointerdown"])
      root.addEventListener(name, () => this.animations.length && this.clear(), true);
  }

  clear() {
    this.animations.forEach((animation) => animation.cancel());
    this.animations = [];
    this.shown = [];
    this.layer.replaceChildren();
  }

  // The sentences of a list.
  texts(list) {
    if (list === null) return [];
    const items = [...this.picture.store.template(list).children];
    const rest = items.length - MOST_SPOKEN;
    const said = items.slice(0, MOST_SPOKEN).map((item) => `${item.textContent}.`);
    return rest > 0 ? [...said, `And ${rest} more.`] : said;
  }

  // Before a frame goes: what is to travel, and from where, for parts that go with it.
  begin(lists) {
    const { store } = this.picture;
    this.clear();
    const listed = lists.flatMap((id) => [...store.template(id).children]);
    this.shown = listed.slice(0, MOST_DRAWN).map(({ dataset }) => ({ ...dataset }));
    const seen = this.shown.length && new View(this.root); // which has the page laid out
    for (const flow of this.shown) flow.was = seen.place(this.part(flow.from));
  }

  part(key) {
    return this.picture.box.querySelector(withKey(key));
  }

  // Once the new frame is there: show it.
  show() {
    this.layer.replaceChildren();
    if (!this.shown.length || calm.matches) return;
    const seen = new View(this.root);
    const legs = [...new Set(this.shown.map(({ leg }) => leg))].sort();
    for (const flow of this.shown) {
      const from = seen.place(this.part(flow.from)) || flow.was;
      const to = seen.place(this.part(flow.to));
      if (from && to && flow.from !== flow.to)
        this.draw(flow, way(from, to, seen.place(this.part(flow.around))), legs);
    }
  }

  arrived() {
    if (this.animations.every(({ playState }) => playState === "finished")) this.clear();
  }

  draw({ kind, label, leg }, along, legs) {
    const rank = legs.indexOf(leg);
    const marker = this.markers.get(kind).cloneNode(true);
    const text = marker.lastChild;
    text.textContent = this.shown.length > MOST_LABELLED ? "" : label;
    text.setAttribute("text-anchor", this.anchor(along(0.5)));
    text.setAttribute("y", BELOW);
    this.layer.append(marker);
    const speed = Number(this.root.querySelector("[data-do=speed]")?.value || 1);
    const duration = LEGS[Math.min(legs.length, LEGS.length) - 1] / speed;
    this.move(marker, along, rank, duration);
  }

  anchor([x]) {
    if (x < EDGE) return "start";
    return x > this.root.clientWidth - EDGE ? "end" : "middle";
  }

  move(marker, along, rank, duration) {
    const places = points(along).map(([x, y]) => `translate(${x}px,${y}px)`);
    const keyframes = places.map((transform) => ({ transform, opacity: 1 }));
    const timing = { duration, delay: rank * duration, easing: "ease-in-out" };
    const animation = marker.animate(keyframes, timing);
    animation.onfinish = () => this.arrived();
    this.animations.push(animation);
  }
}

export function within(one, { left, right, top, bottom }) {
  return one.left > left && one.right < right && one.top > top && one.bottom < bottom;
}

// Where parts are within the player, as far as they can be seen.
class View {
  windows = new Map();

  constructor(root) {
    this.root = root;
    this.origin = bounds(root);
  }

  // A part of a drawing that has a place of its own is there; of any other the middle is meant.
  place(element) {
    if (!element?.checkVisibility({ visibilityProperty: true })) return null;
    const part = element.querySelector(".disc") || element; // a node is where its letter is
    const [x, y] = part.transform?.baseVal.length ? own(part) : middle(part);
    const [left, top, right, bottom] = this.window(element.parentElement);
    if (x < left || x > right || y < top || y > bottom) return null;
    return [x - this.origin.left, y - this.origin.top];
  }

  // What of an element's inside is not cut off by those around it.
  window(element) {
    if (!this.root.contains(element)) return [-Infinity, -Infinity, Infinity, Infinity];
    if (!this.windows.has(element)) {
      const [left, top, right, bottom] = this.window(element.parentElement);
      const box = bounds(element);
      const cuts = getComputedStyle(element).overflow !== "visible" && !element.ownerSVGElement;
      const inside = [
        Math.max(left, box.left),
        Math.max(top, box.top),
        Math.min(right, box.right),
        Math.min(bottom, box.bottom),
      ];
      this.windows.set(element, cuts ? inside : [left, top, right, bottom]);
    }
    return this.windows.get(element);
  }
}

function own(element) {
  const { e, f } = element.getScreenCTM();
  return [e, f];
}

export function middle(element) {
  const { left, top, width, height } = bounds(element);
  return [left + width / 2, top + height / 2];
}

// The way from one place to another: a share of it gives a place. Round a centre it is the shorter.
function way([x1, y1], [x2, y2], centre) {
  if (!centre) return Object.assign((t) => [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t], { bends: 1 });
  const [x, y] = centre;
  const [one, two] = [Math.atan2(y1 - y, x1 - x), Math.atan2(y2 - y, x2 - x)];
  const [near, far] = [Math.hypot(x1 - x, y1 - y), Math.hypot(x2 - x, y2 - y)];
  const turn = two - one - 2 * Math.PI * Math.round((two - one) / (2 * Math.PI));
  const along = (t) => {
    const radius = near + (far - near) * t;
    const angle = one + turn * t;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  };
  return Object.assign(along, { bends: BENDS });
}

function points(along) {
  return Array.from({ length: along.bends + 1 }, (_, i) => along(i / along.bends));
}

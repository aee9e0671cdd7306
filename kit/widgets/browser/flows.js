// What travels in a step, shown over the picture once the step is shown: a marker goes from one
// keyed part to another, or, for a reader who wants no motion, an arrow stands there. The list of a
// step and the markers are drawn by kit/views/frame.py.

import { bounds, calm } from "./motion.js";
import { all } from "./picture.js";

const LEGS = [900, 450, 300, 225]; // milliseconds a leg, where there are one, two, three, four
const MOST_DRAWN = 64;
const MOST_LABELLED = 12;
const MOST_SPOKEN = 6;
const BENDS = 12; // pieces of a way round a centre
const ENDS = [0.1, 0.9]; // where on its way an arrow begins and ends that is within its parts
const SHARES = Array.from({ length: 39 }, (_, i) => (i + 1) / 40);
const ASIDES = [6, 12]; // how far to its right an arrow keeps, so that there and back differ
const [BARB, AIR, ROOM] = [9, 2, 0.18]; // an arrow's head and air, a line's share without ink
const CLOSE_BY = 10; // how far from its end an arrow's head may be
const [BELOW, LINE] = [22, 15]; // of labels
const LABEL_AT = [0.5, 0.35, 0.65, 0.2, 0.8]; // where on an arrow its label may stand
const CHIP = 40; // pixels; in what is higher a label has a place
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
    root.addEventListener("scroll", () => this.replace(), true);
    this.watch = new ResizeObserver(() => this.replace());
    this.watch.observe(root);
  }

  close() {
    this.watch.disconnect();
    this.clear();
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
    return this.picture.box.querySelector(`[data-k="${CSS.escape(key)}"]`);
  }

  // Once the new frame is there: show it.
  show() {
    this.layer.replaceChildren();
    if (!this.shown.length) return;
    const seen = new View(this.root);
    this.origin = seen.origin;
    const legs = [...new Set(this.shown.map(({ leg }) => leg))].sort();
    const parts = calm.matches ? all(this.picture.box, ".kp-scroll:not([hidden]) *") : [];
    this.taken = parts.filter((part) => !part.children.length && part.textContent).map(inside);
    this.boxes = parts.filter((part) => part.matches("rect,.chip,.cell")).map(bounds);
    for (const flow of this.shown) {
      const from = seen.place(this.part(flow.from)) || flow.was;
      const to = seen.place(this.part(flow.to));
      // A picture of a run in space and time has an arrow of its own for each message.
      if (calm.matches && this.part(flow.to)?.closest("[data-arrows]")) continue;
      if (from && to && flow.from !== flow.to)
        this.draw(flow, way(from, to, seen.place(this.part(flow.around))), legs);
    }
  }

  get speed() {
    return Number(this.root.querySelector("[data-do=speed]")?.value || 1);
  }

  arrived() {
    if (this.animations.every(({ playState }) => playState === "finished")) this.clear();
  }

  // Arrows stay where their parts are; what moves has arrived before that matters.
  replace() {
    if (!this.animations.length) this.show();
  }

  draw({ kind, label, leg, from, to }, along, legs) {
    const rank = legs.indexOf(leg);
    const marker = this.markers.get(kind).cloneNode(true);
    const text = marker.lastChild;
    text.textContent = this.shown.length > MOST_LABELLED ? "" : label;
    text.setAttribute("text-anchor", this.anchor(along(0.5)));
    this.layer.append(marker);
    if (calm.matches) {
      marker.classList.add("arrow");
      marker.firstChild.setAttribute("d", this.path(this.line(along, [from, to])));
      seat(text, along, rank, this);
    } else {
      const duration = LEGS[Math.min(legs.length, LEGS.length) - 1] / this.speed;
      this.move(marker, along, rank, duration);
    }
  }

  // The line of an arrow, from the edge of one part, or of what it names as its end, to that of the
  // other: of those to the right of the way the first that lies over the fewest words.
  line(along, keys) {
    const parts = keys.map((key) => this.part(key)).filter((part) => part);
    const boxes = parts.map((part) => bounds(part.querySelector("[data-end]") ?? part));
    const free = SHARES.filter((share) => !this.over(along(share), boxes));
    const ends = free.length > 4 ? [free[0], free.at(-1)] : ENDS;
    const lines = ASIDES.map((far) => aside(points(along, ...ends), far));
    const words = lines.map((line) => inner(line).filter((at) => this.over(at)).length);
    return lines[words.indexOf(Math.min(...words))];
  }

  // Whether a point lies over one of the boxes, which are those of words, or very near.
  over([x, y], boxes = this.taken) {
    const [left, top] = [x + this.origin.left - AIR, y + this.origin.top - AIR];
    const near = { left, right: left + 2 * AIR, top, bottom: top + 2 * AIR };
    return boxes.some((box) => covers(near, box));
  }

  // A line, left out where it would lie over words, with its head at the last place that is free,
  // near the end if there is one there: one far from it could point at another part.
  path(line) {
    const places = inner(line);
    const heads = places.slice(1).map((at, i) => head([places[i], at]));
    const isNear = ([, [x, y]]) => Math.hypot(x - line.at(-1)[0], y - line.at(-1)[1]) < CLOSE_BY;
    const isFree = (points) => !inner(points).some((at) => this.over(at));
    const tip = heads.filter(isNear).findLast(isFree) || heads.findLast(isFree) || heads.at(-1);
    let pen = "M";
    const pieces = places.map((at) => {
      const piece = this.over(at) ? "" : pen + at;
      pen = piece ? "L" : "M";
      return piece;
    });
    return `${pieces.join("")}M${tip.join("L")}`;
  }

  anchor([x]) {
    if (x < EDGE) return "start";
    return x > this.root.clientWidth - EDGE ? "end" : "middle";
  }

  move(marker, along, rank, duration) {
    const places = points(along, 0, 1).map(([x, y]) => `translate(${x}px,${y}px)`);
    const keyframes = places.map((transform) => ({ transform, opacity: 1 }));
    const timing = { duration, delay: rank * duration, easing: "ease-in-out" };
    marker.lastChild.setAttribute("y", BELOW);
    const animation = marker.animate(keyframes, timing);
    animation.onfinish = () => this.arrived();
    this.animations.push(animation);
  }
}

// The label of an arrow stands where it covers no other words; where there is no such place it is
// left to what is said of the step.
function seat(text, along, rank, { taken, boxes }) {
  for (const below of [BELOW + LINE * rank, -ASIDES[0]])
    for (const share of LABEL_AT) {
      const [x, y] = along(share);
      text.setAttribute("x", x);
      text.setAttribute("y", y + below);
      const box = bounds(text);
      const isAway = (one) => !covers(box, one) || (one.height >= CHIP && within(box, one));
      if (![...taken, ...boxes].every(isAway)) continue;
      taken.push(box);
      return;
    }
  text.textContent = "";
}

// The box of a part's words, without the room over and under their letters.
function inside(part) {
  const words = document.createRange();
  words.selectNodeContents(part);
  const { left, right, top, bottom, height } = bounds(words);
  return { left, right, top: top + height * ROOM, bottom: bottom - height * ROOM };
}

function covers(one, other) {
  return (
    one.left <= other.right &&
    other.left <= one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
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
    const [x, y] = element.transform?.baseVal.length ? own(element) : middle(element);
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

function points(along, from, to) {
  const { bends } = along;
  return Array.from({ length: bends + 1 }, (_, i) => along(from + ((to - from) * i) / bends));
}

// A line moved to its right; the end of a bent one stays at its part.
function aside(line, far) {
  const [ux, uy] = direction(line[0], line.at(-1));
  const moved = line.map(([x, y]) => [x - uy * far, y + ux * far]);
  return line.length > 2 ? moved.with(-1, line.at(-1)) : moved;
}

// Points all along a line.
function inner(line) {
  return line
    .slice(1)
    .flatMap(([x, y], i) =>
      SHARES.map((t) => [line[i][0] * (1 - t) + x * t, line[i][1] * (1 - t) + y * t]),
    );
}

// The head of an arrow at the end of a line.
function head(line) {
  const [x, y] = line.at(-1);
  const [ux, uy] = direction(...line.slice(-2));
  const [left, right] = [-0.5, 0.5].map((side) => [
    x - (ux + uy * side) * BARB,
    y - (uy - ux * side) * BARB,
  ]);
  return [left, [x, y], right];
}

function direction([x1, y1], [x2, y2]) {
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  return [(x2 - x1) / far, (y2 - y1) / far];
}

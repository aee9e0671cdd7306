// How parts move from one frame to the next. A part of a drawing moves by its transform, any other
// by its rectangle on the screen.

const MOVED = /^translate\(([-\d.]+) ([-\d.]+)\)$/;
const TIMING = { duration: 260, easing: "ease-out" };
const MOST_MEASURED = 1500;
// What nobody sees does not move; to measure it would have the browser lay it out, each on its own.
const UNSEEN = ".kp-page[hidden],details:not([open])>:not(summary)";

export const FAR = 6; // pixels from where a press becomes a drag
export const bounds = (one) => one.getBoundingClientRect();
export const calm = matchMedia("(prefers-reduced-motion: reduce)");

// Where each element is; of very many only the drawings' parts, which need no measuring.
export function places(elements) {
  const isMany = elements.length > MOST_MEASURED;
  const rectangle = (element) => (isMany || element.closest(UNSEEN) ? null : bounds(element));
  const place = (element) =>
    element.ownerSVGElement ? element.getAttribute("transform") : rectangle(element);
  return new Map(elements.map((element) => [element, place(element)]));
}

// All rectangles are read before the first animation starts.
export function animate(elements, before) {
  const shifts = new Map();
  return elements
    .map((element) => [element, keyframes(element, before, shifts)])
    .filter(([, frames]) => frames)
    .map(([element, frames]) => element.animate(frames, TIMING));
}

function keyframes(element, before, shifts) {
  const was = before.get(element);
  const around = element.parentNode.closest("[data-k]");
  if (was === undefined) return before.has(around) ? [{ opacity: 0 }, { opacity: 1 }] : null;
  if (element.ownerSVGElement) return transformed(was, element.getAttribute("transform"));
  return was && shifted(element, was, around, shifts);
}

function transformed(was, now) {
  const one = MOVED.exec(was || "");
  const two = MOVED.exec(now || "");
  if (!one || !two || one[0] === two[0]) return null;
  return [one, two].map(([, x, y]) => ({ transform: translate(x, y) }));
}

// A part inside one that moves makes only the rest of the way itself.
function shifted(element, was, around, shifts) {
  const now = bounds(element);
  const [outerX, outerY] = shifts.get(around) || [0, 0];
  const shift = [was.x - now.x, was.y - now.y];
  shifts.set(element, shift);
  const x = shift[0] - outerX;
  const y = shift[1] - outerY;
  if (Math.abs(x) + Math.abs(y) <= 1 || !was.width || !now.width) return null;
  return [{ transform: translate(x, y) }, { transform: "none" }];
}

function translate(x, y) {
  return `translate(${x}px,${y}px)`;
}

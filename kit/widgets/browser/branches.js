// The branches of the history: which there are, and how two of them differ.

import { all } from "./picture.js";
import { say } from "./words.js";

const ALIKE = /^\S+ \S+$/; // an act and who does it

// The moments that a person steps through, from the start to a leaf.
export function pathTo(leaf, moments, isStep) {
  const path = [];
  for (let id = leaf; id >= 0; id = moments[id].parent)
    if (id === leaf || isStep(moments[id])) path.push(id);
  return path.reverse();
}

// A path without the steps whose act another node does next: what several do alike is one step.
export function folded(path, moments, kept) {
  const isAlike = (one, two) =>
    ALIKE.test(one) && ALIKE.test(two) && one !== two && one.split(" ")[0] === two.split(" ")[0];
  return path.filter((id, i) => {
    const { verb, milestone, broken } = moments[id];
    const next = moments[path[i + 1]];
    return id === kept || milestone || broken || !next || !isAlike(verb, next.verb);
  });
}

// The last moment of every branch; the one that is looked at may be none yet.
export function leavesOf(moments, tip) {
  const parents = new Set(moments.map((moment) => moment.parent));
  return moments.map((_, id) => id).filter((id) => id === tip || !parents.has(id));
}

// For each step of a path: whether what it did, or a step inside it, reached a mark.
export function marksOf(path, moments, mark) {
  return path.map((id, i) => {
    for (let at = id; at >= 0 && at !== path[i - 1]; at = moments[at].parent)
      if (moments[at][mark]) return moments[at][mark];
    return null;
  });
}

// Say where two paths part, and what each does there: without a safeguard the same steps differ.
export function parting(path, other, moments) {
  const isSame = (id, twin) => id === twin || moments[id].verb === moments[twin]?.verb;
  const first = path.findIndex((id, i) => !isSame(id, other[i]));
  const verb = (ids) => moments[ids[first]]?.verb || say("nothing more");
  if (first < 0) return say("The steps are the same; what comes of them differs.");
  const values = { step: first, here: verb(path), there: verb(other) };
  return say("The branches part at step {step}. Here: {here}. There: {there}.", values);
}

// Mark in both pictures the smallest parts that the other has not, or has otherwise.
export function markDifferences(one, two) {
  for (const [picture, other] of [[one, two], [two, one]])
    for (const [key, part] of picture.live) {
      const same = other.live.get(key)?.keyed.id === part.keyed.id;
      if (!same && !part.querySelector("[data-k]") && !part.closest("[data-quiet]"))
        part.setAttribute("data-my-diff", "");
    }
}

export function unmark(root) {
  for (const part of all(root, "[data-my-diff]")) part.removeAttribute("data-my-diff");
}

// The branches of the history: which there are, and how two of them differ.

import { all } from "./picture.js";

const ALIKE = /^\S+ \S+$/; // an act and who does it

// The moments that a person steps through, from the start to a leaf.
export function pathTo(leaf, moments, isStep) {
  const path = [];
  for (let id = leaf; id >= 0; id = moments[id].parent)
    if (id === leaf || isStep(moments[id])) path.push(id);
  return path.reverse();
}

// Whether two nodes do the same.
function isAlike(one, two) {
  return ALIKE.test(one) && ALIKE.test(two) && one !== two
    && one.split(" ")[0] === two.split(" ")[0];
}

// A path without the steps whose act another node does next: what several do alike is one step.
export function folded(path, moments, kept) {
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

// What names a branch that leaves another one at a step: other safeguards, or what it does there,
// and whether the other one does the same later.
export function nameOf(path, base, first, moments) {
  const [own, other] = [path, base].map((ids) => moments[ids[first]]);
  if (!own) return "nothing yet";
  if (other && own.off !== other.off)
    return own.off ? `without ${own.off}` : `with ${other.off}`;
  const later = (ids, verb) => ids.slice(first).some((id) => moments[id].verb === verb);
  if (!other || !later(base, own.verb) || !later(path, other.verb)) return own.verb;
  const what = isAlike(own.verb, other.verb) ? own.verb.split(" ")[1] : own.verb;
  return `${what} first`;
}

// Say where two paths part, and what each does there: without a safeguard the same steps differ.
export function parting(path, twin, moments) {
  const isSame = (id, other) => id === other || moments[id]?.verb === moments[other]?.verb;
  const longer = path.length < twin.length ? twin : path;
  const step = longer.findIndex((_, i) => !isSame(path[i], twin[i]));
  if (step < 0) return "The same steps lead to different states.";
  const verb = (ids) => moments[ids[step]]?.verb || "nothing more";
  return `The branches part at step ${step}: ${verb(path)} here, ${verb(twin)} there.`;
}

// Mark in both pictures the smallest parts that the other has not, or has otherwise.
export function markDifferences(one, two) {
  for (const [picture, other] of [[one, two], [two, one]])
    for (const [key, part] of picture.live) {
      const twin = other.live.get(key);
      const same = twin?.keyed.id === part.keyed.id;
      if (!same && !part.querySelector("[data-k]") && !part.closest("[data-quiet]"))
        markIn(part, twin);
    }
}

// Of a part that has as many parts as its twin, those that differ; else all of it.
function markIn(part, twin) {
  const [own, others] = [part, twin].map((one) => all(one || part, ":scope>:not(title)"));
  const isAlike = twin && own.length === others.length;
  const differ = own.filter((_, i) => isAlike && !own[i].isEqualNode(others[i]));
  if (!differ.length) part.setAttribute("data-my-diff", "");
  for (const each of differ) markIn(each, others[own.indexOf(each)]);
}

// A picture shows one frame and turns it into the next: parts are matched by their keys. Pages that
// nobody sees are left for when what is seen has been painted, or one turns to them.
// Attributes that begin with data-my- belong to this module; everything else is the kernel's.

import { parsed } from "./fragments.js";
import { animate, calm, places } from "./motion.js";

const HEAD = /^<(\w+) data-k="([^"]*)"/;
const FOCUSABLE = "button,input,select,summary,[tabindex]";

export const all = (root, selector) => [...root.querySelectorAll(selector)];
export const QUIET = { preventScroll: true }; // a focus that moves nothing

export const partsOf = (thing) => `[data-of="${CSS.escape(thing)}"]`;
export const withKey = (key) => `[data-k="${CSS.escape(key)}"]`;

export function unmark(root, mark) {
  for (const part of all(root, `[${mark}]`)) part.removeAttribute(mark);
}

export class Picture {
  live = new Map(); // elements by key; each carries in `keyed` its key, tag, text and frame
  due = new Map(); // pages that are behind the frame, and the text that each is to have
  frame = 0;
  animations = [];

  constructor(box, store) {
    this.box = box;
    this.store = store;
  }

  clear() {
    this.root = undefined;
    this.live.clear();
    this.due.clear();
    this.box.replaceChildren();
  }

  // Show a frame. Returns where everything was, for animate() once nothing more will move.
  show(id, animated) {
    if (this.root?.keyed.id === id) return null;
    this.animations.forEach((animation) => animation.cancel());
    const seen = animated && !calm.matches && this.box.parentNode.offsetParent;
    const before = seen ? places([...this.live.values()]) : null;
    this.keepFocus(() => this.morphTo(id));
    this.box.ariaBusy = this.due.size > 0;
    return before;
  }

  animate(before) {
    this.animations = animate([...this.live.values()], before);
  }

  // Where the focused part goes, the next one that stays gets the focus.
  keepFocus(change) {
    const active = this.box.contains(document.activeElement) ? document.activeElement : null;
    const stops = active ? all(this.box, FOCUSABLE) : [];
    change();
    if (!active || document.activeElement === active) return;
    const order = [...stops.slice(stops.indexOf(active)), ...stops];
    const next = order.find((element) => element.isConnected && element.checkVisibility());
    next?.focus(QUIET);
  }

  morphTo(id) {
    this.store.trim();
    this.turn(() => {
      const root = this.element(id);
      if (root !== this.root) this.box.replaceChildren((this.root = root));
    });
  }

  // Bring the pages that are behind up to the frame. Returns whether there were any.
  settle() {
    const { due } = this;
    if (!due.size) return false;
    this.turn(() => due.forEach((id, page) => page.isConnected && this.become(page, id)));
    due.clear();
    this.box.ariaBusy = false;
    return true;
  }

  turn(change) {
    this.frame += 1;
    this.left = [];
    change();
    for (const element of this.left) if (element.keyed.frame !== this.frame) this.drop(element);
  }

  // The element of a text: the one with its key, if there is one, made equal to the text.
  element(id) {
    const [, tag, key] = HEAD.exec(this.store.texts[id]);
    let element = this.live.get(key);
    if (element?.keyed.tag !== tag) element = this.made(id);
    this.due.delete(element); // a page whose pane is as it was is behind as it was
    if (element.keyed.id !== id) {
      if (element.matches(".kp-page[hidden]")) this.due.set(element, id);
      else this.become(element, id);
    }
    element.keyed.frame = this.frame;
    return element;
  }

  become(element, id) {
    element.keyed.id = id;
    this.morph(element, this.store.template(id));
  }

  // A new element with all below it, parsed at once; what of that is there already is moved there.
  made(id) {
    const ids = [];
    const whole = parsed(this.store.html(id, ids));
    [whole, ...all(whole, "[data-k]")].forEach((part, i) => {
      const key = part.dataset.k;
      if (!whole.contains(part)) return; // below one that was there already
      if (i && this.live.has(key)) part.replaceWith(this.element(ids[i]));
      else {
        part.keyed = { key, tag: part.localName, id: ids[i], frame: this.frame };
        this.live.set(key, part);
      }
    });
    return whole;
  }

  morph(element, like) {
    copyAttributes(element, like);
    const old = [...element.childNodes];
    const plain = old.filter((node) => !node.keyed);
    const wanted = new Set([...like.childNodes].map((node) => this.child(node, plain)));
    plain.forEach((node) => node.remove());
    this.left.push(...old.filter((node) => node.keyed && !wanted.has(node)));
    arrange(element, wanted);
  }

  // A comment stands for a keyed part; any other node takes the place of one of its kind.
  child(node, plain) {
    if (node.nodeType === Node.COMMENT_NODE) return this.element(Number(node.data));
    const i = plain.findIndex((other) => other.nodeName === node.nodeName);
    const child = i < 0 ? node.cloneNode(false) : plain.splice(i, 1)[0];
    if (node.nodeType === Node.ELEMENT_NODE) this.morph(child, node);
    else if (child.data !== node.data) child.data = node.data;
    return child;
  }

  drop(element) {
    element.remove();
    for (const part of [element, ...all(element, "[data-k]")])
      if (this.live.get(part.keyed.key) === part) this.live.delete(part.keyed.key);
  }
}

function copyAttributes(element, like) {
  for (const { name, value } of like.attributes) {
    // What was no control before has no place yet in the walk of the reader.
    const kept = element.isConnected && isReaders(like, name)
      && (name !== "tabindex" || element.hasAttribute(name));
    if (element.getAttribute(name) !== value && !kept) element.setAttribute(name, value);
  }
  for (const { name } of [...element.attributes])
    if (!like.hasAttribute(name) && !isReaders(like, name)) element.removeAttribute(name);
}

// Whether an attribute holds what the reader chose, which a frame must not take back.
function isReaders(like, name) {
  if (name === "open") return like.tagName === "DETAILS";
  if (name === "hidden") return like.matches("[data-choice],.kp-page");
  if (name === "aria-pressed") return like.matches("[data-roving],[data-tab]");
  if (name === "style") return like.hasAttribute("data-pinned");
  if (name === "tabindex") return like.hasAttribute("data-roving");
  return name.startsWith("data-my-");
}

// Put the children in order. A move has the page laid out again, so few are moved: what is not
// wanted here any more is passed over, and so is one that comes later now, rather than to move all
// others before it. Not by moveBefore: what Chromium moves so keeps colours of the step before.
function arrange(element, wanted) {
  const after = (node) => {
    while (node && !wanted.has(node)) node = node.nextSibling;
    return node;
  };
  let next = after(element.firstChild);
  for (const node of wanted) {
    if (node !== next && node === after(next?.nextSibling)) next = node;
    if (node === next) next = after(next.nextSibling);
    else element.insertBefore(node, next);
  }
}

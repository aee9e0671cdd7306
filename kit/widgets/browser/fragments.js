// What the kernel has sent: texts of fragments by number, and the moments of the history.

const PLACEHOLDER = /<!--(\d+)-->/g;
const DRAWN = /^<(g|path|circle|ellipse|rect|line|text|poly\w+)\b/;
const MOST_TEMPLATES = 5000;

export class FragmentStore {
  texts = [];
  moments = [];
  templates = new Map();

  begin({ texts, moments }) {
    this.texts = texts;
    this.moments = moments.map(named);
    this.templates.clear();
  }

  add({ base, texts, first, moments }) {
    this.texts.push(...texts.slice(this.texts.length - base));
    this.moments.splice(first, moments.length, ...moments.map(named));
  }

  // The frame of a moment on a path: the start looks as the safeguards of the branch have it.
  rootAt(id, path) {
    return (!id && this.moments[path[1]]?.start) || this.moments[id].root;
  }

  // The whole HTML of a text, with every placeholder filled; `ids` gathers the texts in order.
  html(id, ids = []) {
    ids.push(Number(id));
    return this.texts[id].replace(PLACEHOLDER, (_, inner) => this.html(inner, ids));
  }

  // The element of a text, without what its placeholders stand for.
  template(id) {
    if (!this.templates.has(id)) this.templates.set(id, parsed(this.texts[id]));
    return this.templates.get(id);
  }

  trim() {
    if (this.templates.size > MOST_TEMPLATES) this.templates.clear();
  }
}

// The order of fields is that of DrawnMoment in kit/views/wire.py.
function named([parent, root, verb, milestone, question, inner, flows, broken, off, start]) {
  return { parent, root, verb, milestone, question, inner, flows, broken, off, start };
}

export function parsed(text) {
  const box = document.createElement("template");
  const drawn = DRAWN.test(text);
  box.innerHTML = drawn ? `<svg>${text}</svg>` : text;
  return drawn ? box.content.firstChild.firstChild : box.content.firstChild;
}

// The stage, time and keys: one module for the live widget and the exported page.
// It knows frames (texts with holes), keys and a tree of moments, and nothing of what they show.
// Names starting with data-my- belong to this module; everything else in a stage is Python's.
const HOLE = /<!--(\d+)-->/g, HEAD = /^<(\w+) data-k="([^"]*)"/;
const SVG = /^<(g|path|circle|ellipse|rect|line|text|poly\w+)\b/;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

class Store { // texts by id; nodes are [parent, root, verb, milestone, question, inner]
  constructor() { this.texts = []; this.nodes = []; this.made = new Map(); }
  flat(id) { return this.texts[id].replace(HOLE, (_, hole) => this.flat(+hole)); }
  head(id) { return HEAD.exec(this.texts[id]); }
  template(id) {
    let made = this.made.get(id);
    if (!made) {
      const text = this.texts[id], box = document.createElement("template"), svg = SVG.test(text);
      box.innerHTML = svg ? `<svg>${text}</svg>` : text;
      made = svg ? box.content.firstChild.firstChild : box.content.firstChild;
      if (this.made.size > 5000) this.made.clear();
      this.made.set(id, made);
    }
    return made;
  }
}

const owned = (el, name) => name.startsWith("data-my-") || (name === "open" && el.tagName === "DETAILS")
  || (name === "hidden" && el.hasAttribute("data-choice"))
  || (el.hasAttribute("data-roving") && (name === "tabindex" || name === "aria-pressed"));
const move = (parent, node, next) => node.isConnected && parent.isConnected && parent.moveBefore
  ? parent.moveBefore(node, next) : parent.insertBefore(node, next);
const FOCUSABLE = "button,input,select,summary,a,[tabindex]";
const shift = (text) => /^translate\(([-\d.]+) ([-\d.]+)\)$/.exec(text || "");
const css = (found) => `translate(${found[1]}px,${found[2]}px)`;

class Stage { // shows one frame; turns it into the next by matching keys
  constructor(box, store) { Object.assign(this, { box, store, live: new Map(), turn: 0, running: [] }); }
  show(id, tween) {
    if (this.root?._id === id) return;
    this.running.forEach((one) => one.cancel());
    const was = tween && !calm.matches && this.box.offsetParent ? this.places() : null;
    const active = this.box.contains(document.activeElement) ? document.activeElement : null;
    const stops = active ? [...this.box.querySelectorAll(FOCUSABLE)] : [];
    this.turn += 1; this.left = [];
    const root = this.part(id);
    if (root !== this.root) this.box.replaceChildren(this.root = root);
    for (const el of this.left) if (el._turn !== this.turn) this.drop(el);
    if (active && document.activeElement !== active) {
      const after = [...stops.slice(stops.indexOf(active)), ...stops].find((el) => el.isConnected);
      (after || this.box).focus({ preventScroll: true });
    }
    this.running = was ? this.animate(was) : [];
  }
  part(id) {
    const [, tag, key] = this.store.head(id);
    let el = this.live.get(key);
    if (!el || el._tag !== tag) {
      el = Object.assign(this.store.template(id).cloneNode(false), { _k: key, _tag: tag });
      this.live.set(key, el);
    }
    el._turn = this.turn;
    if (el._id !== id) { el._id = id; this.morph(el, this.store.template(id)); }
    return el;
  }
  morph(el, like) {
    for (const { name, value } of like.attributes)
      if (el.getAttribute(name) !== value && !(owned(el, name) && el.isConnected)) el.setAttribute(name, value);
    for (const { name } of [...el.attributes])
      if (!like.hasAttribute(name) && !owned(el, name)) el.removeAttribute(name);
    const old = [...el.childNodes], plain = old.filter((node) => !node._k), want = new Set();
    for (const node of like.childNodes) {
      if (node.nodeType === 8) { want.add(this.part(+node.data)); continue; }
      const i = plain.findIndex((one) => one.nodeName === node.nodeName);
      const same = i < 0 ? node.cloneNode(false) : plain.splice(i, 1)[0];
      if (node.nodeType === 3) { if (same.data !== node.data) same.data = node.data; }
      else this.morph(same, node);
      want.add(same);
    }
    plain.forEach((node) => node.remove());
    for (const node of old) if (node._k && !want.has(node)) this.left.push(node);
    let next = el.firstChild;
    for (const node of want) if (node === next) next = next.nextSibling; else move(el, node, next);
  }
  drop(el) {
    el.remove();
    for (const one of [el, ...el.querySelectorAll("[data-k]")])
      if (this.live.get(one._k) === one) this.live.delete(one._k);
  }
  places() {
    const found = new Map(), many = this.live.size > 1500;
    for (const el of this.live.values())
      found.set(el, el.ownerSVGElement ? el.getAttribute("transform") : many ? null : el.getBoundingClientRect());
    return found;
  }
  animate(was) { // all rectangles are read before the first animation starts
    const plans = [], timing = { duration: 260, easing: "ease-out" }, gone = new Map();
    for (const el of this.live.values()) {
      const before = was.get(el);
      if (before === undefined) { plans.push([el, [{ opacity: 0 }, { opacity: 1 }]]); continue; }
      if (el.ownerSVGElement) {
        const one = shift(before), two = shift(el.getAttribute("transform"));
        if (one && two && one[0] !== two[0]) plans.push([el, [{ transform: css(one) }, { transform: css(two) }]]);
      } else if (before) {
        const now = el.getBoundingClientRect(), dx = before.x - now.x, dy = before.y - now.y;
        const [px, py] = gone.get(el.parentNode.closest("[data-k]")) || [0, 0];
        gone.set(el, [dx, dy]);
        if (Math.abs(dx - px) + Math.abs(dy - py) > 1 && before.width && now.width)
          plans.push([el, [{ transform: `translate(${dx - px}px,${dy - py}px)` }, { transform: "none" }]]);
      }
    }
    return plans.map(([el, frames]) => el.animate(frames, timing));
  }
}

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function render({ model, el }) {
  el.innerHTML = model.get("shell"); // written by the escaping builder
  const root = el.firstChild, store = new Store();
  const $ = (name) => root.querySelector(`[data-do="${name}"]`), part = (name) => root.querySelector(`.kp-${name}`);
  const range = $("scrub"), note = part("note"), ask = part("ask"), help = part("help"), live = part("live");
  const main = new Stage(part("stage"), store), side = new Stage(part("side"), store);
  let at = 0, tip = 0, other = -1, path = [0], session = "", timer = 0, tell = 0, speech = 0, drag = 0;
  let origin = null, asked = null, chosen = {}, opener = null, unfolded = false;

  const line = (leaf) => { // the moments a person steps through, from the start to a leaf
    const ids = [];
    for (let id = leaf; id >= 0; id = store.nodes[id][0])
      if (unfolded || !store.nodes[id][5] || id === leaf) ids.unshift(id);
    return ids;
  };
  const leaves = () => {
    const inner = new Set(store.nodes.map((node) => node[0]));
    return store.nodes.map((_, id) => id).filter((id) => !inner.has(id) || id === tip);
  };
  const say = (text) => { clearTimeout(speech); speech = setTimeout(() => { live.textContent = text; }, 350); };
  const pressed = (name) => $(name).getAttribute("aria-pressed") === "true";
  const press = (name, on) => $(name).setAttribute("aria-pressed", String(on));
  const hush = () => { note.hidden = true; };
  function tellUser(text, from) { // beside the control that was used, or over the stage
    note.textContent = text; note.hidden = false;
    const frame = root.getBoundingClientRect(), box = (from?.isConnected ? from : part("stage")).getBoundingClientRect();
    note.style.left = `${Math.max(8, Math.min(box.left - frame.left, frame.width - note.offsetWidth - 8))}px`;
    note.style.top = `${(from?.isConnected ? box.bottom : box.top) - frame.top + 6}px`;
    say(text);
  }
  const send = (act, from) => {
    if (!model.get("live")) return tellUser(model.get("closed"), from);
    origin = from || null;
    model.send({ act, at, have: store.texts.length });
  };
  function options(select, first) { // one option a branch, named by its end and by where it parts
    const list = leaves().map((leaf, i) => [leaf, `branch ${i + 1}: ${store.nodes[leaf][2] || "start"}`]);
    const rows = first ? [[-1, first], ...list.filter(([leaf]) => leaf !== tip)] : list;
    const text = JSON.stringify(rows);
    if (select._rows === text) return;
    select._rows = text;
    select.replaceChildren(...rows.map(([leaf, name]) => new Option(name, leaf)));
    select.closest("label").hidden = list.length < 2;
  }
  function differ() {
    const on = other >= 0 && store.nodes[other] && other !== tip, i = path.indexOf(at);
    part("side").hidden = part("diff").hidden = !on;
    for (const one of root.querySelectorAll("[data-my-diff]")) one.removeAttribute("data-my-diff");
    if (!on) return;
    const twin = line(other), first = path.findIndex((id, n) => id !== twin[n]);
    side.show(store.nodes[twin[Math.min(i, twin.length - 1)]][1], false);
    const verb = (ids) => store.nodes[ids[first]]?.[2] || "nothing more";
    part("diff").textContent = first < 0 ? "" : `The branches part at step ${first}. Here: ${verb(path)}. There: ${verb(twin)}.`;
    for (const [here, there] of [[main, side], [side, main]])
      for (const [key, one] of here.live)
        if (there.live.get(key)?._id !== one._id && !one.querySelector("[data-k]")) one.setAttribute("data-my-diff", "");
  }
  function settle() { // what the reader chose survives every frame
    for (const one of root.querySelectorAll("[data-choice]")) {
      const [name, value] = JSON.parse(one.dataset.choice);
      one.hidden = (chosen[name] ?? root.querySelector(`select[data-choose="${name}"]`)?.value ?? value) !== value;
    }
    for (const one of root.querySelectorAll("select[data-choose]")) {
      const value = chosen[one.dataset.choose];
      if (value !== undefined && one.value !== value) one.value = value;
    }
    for (const one of root.querySelectorAll("[data-of]")) one.toggleAttribute("data-my-lit", one.dataset.of === chosen[" spot"]);
    for (const group of root.querySelectorAll("[data-rove]")) {
      const items = [...group.querySelectorAll("[data-roving]")];
      if (items.length && !items.some((item) => item.tabIndex === 0)) items[0].tabIndex = 0;
    }
    for (const box of root.querySelectorAll("input[data-filter]")) sift(box);
  }
  function sift(box) {
    const list = box.closest("[data-sift]").querySelector("[data-find]"), word = box.value.trim().toLowerCase();
    let count = 0;
    for (const item of list.querySelectorAll("li")) {
      const hit = word !== "" && item.textContent.toLowerCase().includes(word);
      item.toggleAttribute("data-my-hit", hit);
      count += hit;
    }
    list.setAttribute("data-my-count", word ? `${count} found` : "");
  }
  function show(tween) {
    const i = path.indexOf(at), last = path.length - 1, node = store.nodes[at];
    if (node[1] === null) return model.send({ need: at });
    main.show(node[1], tween);
    settle(); differ();
    const text = main.root.dataset.say || "";
    range.max = last; range.value = i;
    range.setAttribute("aria-valuetext", `step ${i} of ${last}: ${text}`);
    part("where").textContent = `${i} / ${last}`;
    for (const name of ["first", "back"]) $(name).setAttribute("aria-disabled", String(i === 0));
    for (const name of ["step", "milestone", "play"]) $(name).setAttribute("aria-disabled", String(i === last && !model.get("live")));
    options($("branch")); options($("compare"), "nothing"); $("branch").value = tip;
    $("unfold").hidden = !store.nodes.some((one) => one[5]);
    say(text);
    clearTimeout(tell);
    tell = setTimeout(() => model.send({ at, tip }), 200);
  }
  function go(id, tween) {
    if (id === undefined || id === at || !store.nodes[id]) return;
    hush(); ask.hidden = true; asked = null;
    at = id;
    show(tween);
  }
  function follow(leaf, id) { tip = leaf; path = line(tip); if (!path.includes(id)) path = line(id); }
  function forward(big, from) {
    const i = path.indexOf(at);
    if (i === path.length - 1) return send(big ? "milestone" : "step", from);
    const far = path.findIndex((id, n) => n > i && store.nodes[id][3]);
    const id = path[big ? (far < 0 ? path.length - 1 : far) : i + 1];
    if (pressed("predict") && store.nodes[id][4] !== null) return inquire(id);
    go(id, true);
  }
  function backward(big) {
    const i = path.indexOf(at), near = big ? path.findLastIndex((id, n) => n < i && store.nodes[id][3]) : i - 1;
    go(path[Math.max(0, near)], true);
  }
  function inquire(id) {
    stop(); hush();
    asked = id; ask.innerHTML = store.flat(store.nodes[id][4]); ask.hidden = false;
    ask.querySelector("input")?.focus(); say(ask.querySelector("legend")?.textContent || "");
  }
  function answer(tried) {
    const boxes = [...ask.querySelectorAll("input")], id = asked, right = boxes.every((box) => box.checked === box.hasAttribute("data-right"));
    const truth = ask.firstChild.dataset.because;
    go(id, true); range.focus();
    tellUser(tried ? `${right ? "Right" : "Not so"}. ${truth}` : truth, part("stage"));
  }
  const stop = () => { clearInterval(timer); timer = 0; press("play", false); $("play").setAttribute("aria-label", "play"); };
  function play() {
    if (timer) return stop();
    press("play", true); $("play").setAttribute("aria-label", "pause");
    const tick = () => { const i = path.indexOf(at); if (i === path.length - 1 && !model.get("live")) stop(); else forward(false); };
    timer = setInterval(tick, 1000 / Number($("speed").value));
  }
  function toggle(box, from) {
    box.hidden = !box.hidden;
    if (box.hidden) return opener?.focus();
    opener = from || document.activeElement; box.focus();
  }
  const DO = {
    first: () => go(path[0], false), last: () => go(path.at(-1), false), back: () => backward(false),
    step: (from) => forward(false, from), milestone: (from) => forward(true, from), play, help: (from) => toggle(help, from),
    fork: (from) => { if (at === path.at(-1)) return tellUser("This is the end of a branch: acting here goes on, acting in the past forks.", from); send("fork", from); },
    predict: () => press("predict", !pressed("predict")), answer: () => answer(true), reveal: () => answer(false),
    projector: () => { press("projector", !pressed("projector")); root.toggleAttribute("data-my-large", pressed("projector")); },
    unfold: () => { unfolded = !unfolded; press("unfold", unfolded); path = line(tip); if (!path.includes(at)) at = path.findLast((id) => id <= at); show(false); },
  };
  const KEYS = { ArrowRight: (e) => forward(e.shiftKey), ArrowLeft: (e) => backward(e.shiftKey), j: () => forward(false), k: () => backward(false),
    " ": play, Home: DO.first, End: DO.last, f: DO.fork, p: DO.projector, "?": () => DO.help() };

  root.addEventListener("click", (event) => {
    const from = event.target.closest("button,[data-roving]");
    if (!from || !root.contains(from)) return hush();
    hush();
    const pick = from.closest("[data-group]")?.querySelector("select[data-pick]")?.selectedOptions[0];
    const refused = from.dataset.refused ?? (from.dataset.act === "pick" ? pick?.dataset.refused : undefined);
    if (refused !== undefined) return tellUser(refused, from);
    if (from.getAttribute("aria-disabled") === "true" && from.dataset.do) return tellUser(model.get("live") ? "There is no step before the first." : model.get("closed"), from);
    if (from.dataset.act) return send(from.dataset.act === "pick" ? pick.value : from.dataset.act, from);
    if (from.dataset.spot) {
      chosen[" spot"] = chosen[" spot"] === from.dataset.spot ? undefined : from.dataset.spot;
      for (const one of root.querySelectorAll("[data-spot]")) one.setAttribute("aria-pressed", String(one.dataset.spot === chosen[" spot"]));
      return settle();
    }
    DO[from.dataset.do]?.(from);
  });
  root.addEventListener("input", ({ target }) => {
    if (target.dataset.filter !== undefined) sift(target);
    if (target !== range) return;
    stop(); cancelAnimationFrame(drag);
    drag = requestAnimationFrame(() => go(path[Number(range.value)], false));
  });
  root.addEventListener("change", ({ target }) => {
    if (target.dataset.choose) { chosen[target.dataset.choose] = target.value; settle(); }
    if (target === $("branch")) { const i = path.indexOf(at); follow(Number(target.value)); at = path[Math.min(i, path.length - 1)]; show(true); }
    if (target === $("compare")) { other = Number(target.value); differ(); settle(); }
    if (target === $("speed") && timer) { stop(); play(); }
  });
  root.addEventListener("focusin", ({ target }) => {
    if (target.hasAttribute("data-roving"))
      for (const item of target.closest("[data-rove]").querySelectorAll("[data-roving]")) item.tabIndex = item === target ? 0 : -1;
  });
  root.addEventListener("keydown", (event) => {
    const { key, target } = event, plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (key === "Escape") { hush(); if (!help.hidden) toggle(help); return; }
    if (!plain || key === "Tab") return;
    event.stopPropagation(); // JupyterLab acts on single letters even here
    const typing = target.matches("input:not([type=range]):not([type=checkbox]):not([type=radio])");
    const native = target.matches("select,summary,input[type=checkbox],input[type=radio]") && (key === " " || key.startsWith("Arrow"));
    if (typing || native || (key === "Enter" && !target.hasAttribute("data-roving"))) return;
    if (key === " " && target.matches("button")) return;
    if (target.hasAttribute("data-roving")) {
      const items = [...target.closest("[data-rove]").querySelectorAll("[data-roving]")], i = items.indexOf(target);
      const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
      if (turn) { event.preventDefault(); items[(i + turn + items.length) % items.length].focus(); return; }
      if (key === "Enter" || key === " ") { event.preventDefault(); target.dispatchEvent(new MouseEvent("click", { bubbles: true })); return; }
    }
    if (KEYS[key]) { event.preventDefault(); KEYS[key](event); }
  });

  async function load() {
    const pack = await unpack(model.get("pack"));
    store.texts = pack.f; store.nodes = pack.n; store.made.clear(); session = pack.s;
    stop(); hush(); other = -1; main.root = side.root = undefined; main.live.clear(); side.live.clear();
    const start = model.get("start");
    at = store.nodes[start] ? start : pack.at; follow(pack.tip, at); show(false);
    model.send({ sync: store.texts.length, nodes: store.nodes.length, session });
  }
  function receive(news) {
    if (news.look !== undefined) { if (store.nodes[news.look]) { follow(tip, news.look); go(news.look, false); } return; }
    if (news.session !== session) return;
    if (news.base > store.texts.length || news.first > store.nodes.length) return model.send({ sync: store.texts.length, nodes: store.nodes.length, session });
    store.texts.push(...news.f.slice(store.texts.length - news.base));
    store.nodes.splice(news.first, news.n.length, ...news.n);
    if (news.tip !== undefined) {
      const ahead = store.nodes[news.at]?.[0] === at && pressed("predict") && store.nodes[news.at][4] !== null;
      follow(news.tip, news.at);
      if (ahead) { show(false); inquire(news.at); } else if (news.at !== at) go(news.at, true); else show(false);
    }
    if (news.error) { stop(); tellUser(news.error, origin); }
  }
  let queue = load();
  const packed = () => { queue = queue.then(load); };
  const custom = (news) => { queue = queue.then(() => receive(news)); };
  model.on("change:pack", packed); model.on("msg:custom", custom);
  const quiet = (event) => { if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation(); };
  const shelf = requestAnimationFrame(() => el.closest(".kit-player")?.addEventListener("keydown", quiet));
  return () => { stop(); cancelAnimationFrame(shelf); model.off("change:pack", packed); model.off("msg:custom", custom); };
}

export default { render };

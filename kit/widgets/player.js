// The stage, time and keys: one module for the live widget and the exported page. It knows frames
// (texts with holes), keys and a tree of moments, and nothing of what they show. Attributes that
// begin with data-my- belong to this module; everything else inside a stage is Python's.
const HOLE = /<!--(\d+)-->/g, HEAD = /^<(\w+) data-k="([^"]*)"/, MOVED = /^translate\(([-\d.]+) ([-\d.]+)\)$/;
const DRAWN = /^<(g|path|circle|ellipse|rect|line|text|poly\w+)\b/, FOCUSABLE = "button,input,select,summary,[tabindex]";
const calm = matchMedia("(prefers-reduced-motion: reduce)"), all = (root, what) => [...root.querySelectorAll(what)];
const px = (found) => `translate(${found[1]}px,${found[2]}px)`;
const owned = (el, name) => name.startsWith("data-my-") || (name === "open" && el.tagName === "DETAILS") || (name === "hidden" && el.hasAttribute("data-choice"))
  || ((name === "tabindex" || name === "aria-pressed") && el.hasAttribute("data-roving"));

class Store { // texts by id; a moment is [parent, root, verb, milestone, question, inner]
  texts = []; moments = []; made = new Map(); // made: parsed texts
  flat(id) { return this.texts[id].replace(HOLE, (_, hole) => this.flat(+hole)); }
  template(id) {
    if (this.made.has(id)) return this.made.get(id);
    const text = this.texts[id], box = document.createElement("template"), drawn = DRAWN.test(text);
    box.innerHTML = drawn ? `<svg>${text}</svg>` : text;
    this.made.set(id, drawn ? box.content.firstChild.firstChild : box.content.firstChild);
    return this.template(id);
  }
}

class Stage { // shows one frame; turns it into the next by matching keys
  constructor(box, store) { Object.assign(this, { box, store, live: new Map(), turn: 0, running: [] }); }
  clear() { this.root = undefined; this.live.clear(); this.box.replaceChildren(); }
  show(id, tween) { // the tween is for its caller to start, once nothing more will move
    if (this.root?._id === id) return null;
    this.running.forEach((one) => one.cancel());
    const was = tween && !calm.matches && this.box.offsetParent ? this.places() : null;
    const active = this.box.contains(document.activeElement) ? document.activeElement : null;
    const stops = active ? all(this.box, FOCUSABLE) : [];
    this.turn += 1; this.left = [];
    if (this.store.made.size > 5000) this.store.made.clear();
    const root = this.part(id); if (root !== this.root) this.box.replaceChildren(this.root = root);
    for (const el of this.left) if (el._turn !== this.turn) this.drop(el);
    if (active && document.activeElement !== active)
      ([...stops.slice(stops.indexOf(active)), ...stops].find((el) => el.isConnected) || this.box).focus({ preventScroll: true });
    return was;
  }
  part(id) { // the element of a stored text, morphed from the one with its key if there is one
    const [, tag, key] = HEAD.exec(this.store.texts[id]);
    let el = this.live.get(key);
    if (el?._tag !== tag) this.live.set(key, el = Object.assign(this.store.template(id).cloneNode(false), { _k: key, _tag: tag }));
    if (el._id !== id) { el._id = id; this.morph(el, this.store.template(id)); }
    return Object.assign(el, { _turn: this.turn });
  }
  morph(el, like) {
    for (const { name, value } of like.attributes)
      if (el.getAttribute(name) !== value && !(el.isConnected && owned(el, name))) el.setAttribute(name, value);
    for (const { name } of [...el.attributes]) if (!like.hasAttribute(name) && !owned(el, name)) el.removeAttribute(name);
    const old = [...el.childNodes], plain = old.filter((node) => !node._k), want = new Set();
    for (const node of like.childNodes) {
      if (node.nodeType === 8) { want.add(this.part(+node.data)); continue; }
      const i = plain.findIndex((one) => one.nodeName === node.nodeName);
      const same = i < 0 ? node.cloneNode(false) : plain.splice(i, 1)[0];
      if (node.nodeType === 1) this.morph(same, node); else if (same.data !== node.data) same.data = node.data;
      want.add(same);
    }
    plain.forEach((node) => node.remove());
    for (const node of old) if (node._k && !want.has(node)) this.left.push(node);
    let next = el.firstChild;
    for (const node of want) if (node === next) next = next.nextSibling;
      else el[el.moveBefore && el.isConnected && node.isConnected ? "moveBefore" : "insertBefore"](node, next);
  }
  drop(el) {
    el.remove(); for (const one of [el, ...all(el, "[data-k]")]) if (this.live.get(one._k) === one) this.live.delete(one._k);
  }
  places() { // where everything is: a drawing's parts by their transform, the rest by rectangle unless there are very many
    const box = (el) => (this.live.size > 1500 ? null : el.getBoundingClientRect());
    return new Map([...this.live.values()].map((el) => [el, el.ownerSVGElement ? el.getAttribute("transform") : box(el)]));
  }
  animate(was) { // all rectangles are read before the first animation starts
    const plans = [], shifts = new Map();
    for (const el of this.live.values()) {
      const before = was.get(el), over = el.parentNode.closest("[data-k]");
      if (before === undefined) { if (was.has(over)) plans.push([el, [{ opacity: 0 }, { opacity: 1 }]]); }
      else if (el.ownerSVGElement) {
        const one = MOVED.exec(before || ""), two = MOVED.exec(el.getAttribute("transform") || "");
        if (one && two && one[0] !== two[0]) plans.push([el, [{ transform: px(one) }, { transform: px(two) }]]);
      } else if (before) {
        const now = el.getBoundingClientRect(), shift = [0, before.x - now.x, before.y - now.y];
        const parent = shifts.get(over) || [0, 0, 0], own = shift.map((one, i) => one - parent[i]);
        shifts.set(el, shift);
        if (Math.abs(own[1]) + Math.abs(own[2]) > 1 && before.width && now.width) plans.push([el, [{ transform: px(own) }, { transform: "none" }]]);
      }
    }
    this.running = plans.map(([el, frames]) => el.animate(frames, { duration: 260, easing: "ease-out" }));
  }
}

function render({ model, el }) {
  el.innerHTML = model.get("shell"); // written by the escaping builder
  const root = el.firstChild, store = new Store(), open = model.get("live");
  const $ = (name) => root.querySelector(`[data-do="${name}"]`), part = (name) => root.querySelector(`.kp-${name}`);
  const range = $("scrub"), note = part("note"), ask = part("ask"), help = part("help"), live = part("live");
  const main = new Stage(part("stage"), store), side = new Stage(part("side"), store);
  let at = 0, tip = 0, other = -1, path = [0], session = "", sequence = 0, unfolded = false;
  let timer = 0, tell = 0, speech = 0, drag = 0, origin = null, asked = null, opener = null, chosen = {}, spot;
  const line = (leaf) => { // the moments a person steps through, from the start to a leaf
    const ids = []; for (let id = leaf; id >= 0; id = store.moments[id][0]) if ((unfolded && (open || store.moments[id][1] !== null)) || !store.moments[id][5] || id === leaf) ids.push(id);
    return ids.reverse();
  };
  const here = () => path.indexOf(at), ended = () => at === path.at(-1), hush = () => { note.hidden = true; };
  const pressed = (name) => $(name).getAttribute("aria-pressed") === "true", press = (name, on) => $(name).setAttribute("aria-pressed", String(on));
  const say = (text) => { clearTimeout(speech); speech = setTimeout(() => { live.textContent = text; }, 350); };
  const sync = () => model.send({ message: "sync", texts: store.texts.length, moments: store.moments.length, session });
  function tellUser(text, from) { // beside the control that was used, or over the stage
    note.textContent = text; note.hidden = false;
    const frame = root.getBoundingClientRect(), box = (from?.isConnected ? from : part("stage")).getBoundingClientRect();
    note.style.left = `${Math.max(8, Math.min(box.left - frame.left, frame.width - note.offsetWidth - 8))}px`;
    note.style.top = `${(from?.isConnected ? box.bottom : box.top) - frame.top + 6}px`; say(text);
  }
  function send(act, from) {
    if (open) { origin = from || null; model.send({ message: "act", control: act, at, have: store.texts.length }); } else tellUser(model.get("closed"), from);
  }
  function options(select, first) { // one option a branch, named by its number and its last step
    const inner = new Set(store.moments.map((node) => node[0])), leaves = store.moments.map((_, id) => id).filter((id) => id === tip || !inner.has(id));
    const list = leaves.map((leaf, i) => [leaf, `branch ${i + 1}: ${store.moments[leaf][2] || "start"}`]);
    const rows = first ? [[-1, first], ...list.filter(([leaf]) => leaf !== tip)] : list, text = JSON.stringify(rows), value = first ? other : tip;
    if (select._rows !== text) { select._rows = text; select.replaceChildren(...rows.map(([leaf, name]) => new Option(name, leaf))); }
    select.closest("label").hidden = list.length < 2;
    select.value = rows.some(([leaf]) => leaf === value) ? value : rows[0][0];
  }
  function differ() { // the compared branch beside this one, at the same step; what differs is marked
    const on = other >= 0 && other !== tip && store.moments[other] !== undefined;
    for (const one of all(root, "[data-my-diff]")) one.removeAttribute("data-my-diff");
    part("side").hidden = part("diff").hidden = !on; if (!on) return;
    const twin = line(other), first = path.findIndex((id, n) => id !== twin[n]), verb = (ids) => store.moments[ids[first]]?.[2] || "nothing more";
    side.show(store.moments[twin[Math.min(here(), twin.length - 1)]][1], false);
    part("diff").textContent = first < 0 ? "" : `The branches part at step ${first}. Here: ${verb(path)}. There: ${verb(twin)}.`;
    for (const [one, two] of [[main, side], [side, main]]) for (const [key, piece] of one.live)
      if (two.live.get(key)?._id !== piece._id && !piece.querySelector("[data-k]") && !piece.closest("[data-quiet]")) piece.setAttribute("data-my-diff", "");
  }
  function settle() { // what the reader chose survives every frame
    for (const one of all(root, "select[data-choose]")) chosen[one.dataset.choose] = one.value = chosen[one.dataset.choose] ?? one.value;
    for (const one of all(root, "[data-choice]")) { const [name, value] = JSON.parse(one.dataset.choice); one.hidden = chosen[name] !== value; }
    for (const one of all(root, "[data-of]")) one.toggleAttribute("data-my-lit", one.dataset.of === spot);
    for (const one of all(root, "[data-spot]")) one.setAttribute("aria-pressed", String(one.dataset.spot === spot));
    for (const group of all(root, "[data-rove]"))
      if (!group.querySelector('[tabindex="0"]')) group.querySelector("[data-roving]")?.setAttribute("tabindex", "0");
    for (const box of all(root, "input[data-filter]")) {
      const list = box.closest("[data-sift]").querySelector("[data-find]"), word = box.value.trim().toLowerCase(); if (!word && !list.dataset.myCount) continue;
      for (const item of all(list, "li")) item.toggleAttribute("data-my-hit", word !== "" && item.textContent.toLowerCase().includes(word));
      list.setAttribute("data-my-count", word && `${all(list, "[data-my-hit]").length} found`);
    }
  }
  function show(tween) {
    const i = here(), last = path.length - 1;
    if (store.moments[at][1] === null) return model.send({ message: "need", moment: at });
    const was = main.show(store.moments[at][1], tween);
    options($("branch")); options($("compare"), "nothing"); differ(); settle();
    const text = main.root.dataset.say || "";
    range.max = last; range.value = i; range.setAttribute("aria-valuetext", `step ${i} of ${last}: ${text}`); part("where").textContent = `${i} / ${last}`;
    for (const name of ["first", "back", "step", "milestone", "play"])
      $(name).setAttribute("aria-disabled", String(name === "first" || name === "back" ? i === 0 : i === last && !open));
    $("unfold").hidden = !store.moments.some((one) => one[5]); if (was) main.animate(was);
    say(text); clearTimeout(tell); tell = setTimeout(() => model.send({ message: "look", position: { at, tip, sequence } }), 200);
  }
  function go(id, tween) { if (id !== undefined && id !== at) { hush(); ask.hidden = true; asked = null; at = id; show(tween); } }
  function follow(leaf, id = leaf) { tip = leaf; path = line(leaf); if (!path.includes(id)) path = line(id); }
  function forward(big, from) {
    if (ended()) return send(big ? "milestone" : "step", from);
    const far = path.findIndex((id, n) => n > here() && store.moments[id][3]), id = big ? path.at(far) : path[here() + 1];
    if (pressed("predict") && store.moments[id][4] !== null) inquire(id); else go(id, true);
  }
  const backward = (big) => go(path[Math.max(0, big ? path.findLastIndex((id, n) => n < here() && store.moments[id][3]) : here() - 1)], true);
  function inquire(id) { // the next step stays hidden until the reader has said what it will be
    stop(); hush(); asked = id; ask.innerHTML = store.flat(store.moments[id][4]); ask.hidden = false;
    ask.querySelector("input").focus(); say(ask.querySelector("legend").textContent);
  }
  function answer(tried) {
    const right = all(ask, "input").every((box) => box.checked === box.hasAttribute("data-right")), truth = ask.firstChild.dataset.because;
    go(asked, true); range.focus(); tellUser(tried ? `${right ? "Right" : "Not so"}. ${truth}` : truth);
  }
  function stop() { clearInterval(timer); timer = 0; press("play", false); }
  function play() {
    if (timer) return stop(); press("play", true); timer = setInterval(() => { if (ended() && !open) stop(); else forward(false); }, 1000 / Number($("speed").value));
  }
  const DO = {
    first: () => go(path[0], false), last: () => go(path.at(-1), false), back: () => backward(false), play,
    step: (from) => forward(false, from), milestone: (from) => forward(true, from),
    help: (from) => { help.hidden = !help.hidden; if (help.hidden) opener?.focus(); else { opener = from || document.activeElement; help.focus(); } },
    fork: (from) => (ended() ? tellUser("This is the end of a branch. Acting here goes on; acting in the past forks.", from) : send("fork", from)),
    predict: () => press("predict", !pressed("predict")), answer: () => answer(true), reveal: () => answer(false),
    projector: () => { press("projector", !pressed("projector")); root.toggleAttribute("data-my-large", pressed("projector")); },
    unfold: () => { press("unfold", unfolded = !unfolded); path = line(tip); at = path.findLast((id) => id <= at); show(false); },
  };
  const KEYS = { ArrowRight: (event) => forward(event.shiftKey), ArrowLeft: (event) => backward(event.shiftKey), j: () => forward(false), k: () => backward(false),
    " ": play, Home: DO.first, End: DO.last, f: () => DO.fork(), p: DO.projector, "?": () => DO.help() };
  root.addEventListener("click", ({ target }) => {
    const from = target.closest("button,[data-roving]");
    hush(); if (!from) return;
    const pick = from.dataset.act === "pick" ? from.closest("[data-group]").querySelector("select").selectedOptions[0] : from;
    if (pick.dataset.refused !== undefined) tellUser(pick.dataset.refused, from);
    else if (from.dataset.act) send(pick === from ? from.dataset.act : pick.value, from);
    else if (from.dataset.spot) { spot = spot === from.dataset.spot ? undefined : from.dataset.spot; settle(); }
    else if (from.getAttribute("aria-disabled") === "true") tellUser(here() === 0 ? "This is the first step." : model.get("closed"), from);
    else DO[from.dataset.do](from);
  });
  root.addEventListener("input", ({ target }) => {
    if (target.matches("[data-filter]")) settle();
    if (target === range) { stop(); cancelAnimationFrame(drag); drag = requestAnimationFrame(() => go(path[Number(range.value)], false)); }
  });
  root.addEventListener("change", ({ target }) => {
    if (target.dataset.choose) { chosen[target.dataset.choose] = target.value; settle(); }
    if (target === $("branch")) { const i = here(); follow(Number(target.value)); at = path[Math.min(i, path.length - 1)]; show(true); }
    if (target === $("compare")) { other = Number(target.value); differ(); settle(); }
    if (target === $("speed") && timer) { stop(); play(); }
  });
  root.addEventListener("focusin", ({ target }) => { for (const item of target.matches("[data-roving]") ? all(target.closest("[data-rove]"), "[data-roving]") : [])
    item.setAttribute("tabindex", item === target ? "0" : "-1"); });
  root.addEventListener("keydown", (event) => {
    const { key, target } = event, roving = target.matches("[data-roving]"), arrow = key.startsWith("Arrow");
    if (key === "Escape") { hush(); return help.hidden || DO.help(); }
    if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab") return; // the next line: JupyterLab acts on single letters even here
    event.stopPropagation();
    if (target.matches("input:not([type=range],[type=checkbox])") || (target.matches("select") && key !== "?")) return;
    if ((key === " " || key === "Enter") && target.matches("button,summary,input[type=checkbox]")) return;
    if (roving && (arrow || key === "Enter" || key === " ")) {
      const items = all(target.closest("[data-rove]"), "[data-roving]"), next = items.indexOf(target) + (/Right|Down/.test(key) ? 1 : -1);
      event.preventDefault(); if (arrow) items.at(next % items.length).focus(); else target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else if (KEYS[key]) { event.preventDefault(); KEYS[key](event); }
  });
  async function load() {
    const stream = new Blob([model.get("pack")]).stream().pipeThrough(new DecompressionStream("gzip"));
    const pack = JSON.parse(await new Response(stream).text()), start = model.get("start");
    store.texts = pack.texts; store.moments = pack.moments; store.made.clear(); session = pack.session; sequence = pack.position.sequence;
    stop(); hush(); ask.hidden = true; other = -1; chosen = {}; main.clear(); side.clear(); at = store.moments[start] ? start : pack.position.at; follow(pack.position.tip, at); show(false); sync();
  }
  function receive(news) {
    if (store.moments[news.look]) { follow(tip, news.look); return go(news.look, false); }
    if (news.session !== session) return undefined;
    if (news.base > store.texts.length || news.first > store.moments.length) return sync();
    store.texts.push(...news.texts.slice(store.texts.length - news.base));
    store.moments.splice(news.first, news.moments.length, ...news.moments);
    if (news.position) { const to = news.position.at;
      const hidden = pressed("predict") && store.moments[to][0] === at && store.moments[to][4] !== null;
      sequence = news.position.sequence; follow(news.position.tip, to);
      if (hidden) { show(false); inquire(to); } else if (to === at) show(false); else go(to, true);
    } else if (news.first <= at) show(false);
    return news.error && (stop(), tellUser(news.error, origin));
  }
  let queue = load(); // news waits until what came before it has been unpacked
  const packed = () => { queue = queue.then(load); }, heard = (news) => { queue = queue.then(() => receive(news)); };
  model.on("change:pack", packed); model.on("msg:custom", heard);
  const quiet = (event) => { if (event.key !== "Tab" && event.key !== "Escape" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation(); };
  const shelf = requestAnimationFrame(() => el.closest(".kit-player")?.addEventListener("keydown", quiet));
  return () => { stop(); cancelAnimationFrame(shelf); model.off("change:pack", packed); model.off("msg:custom", heard); };
}
export default { render };

// The player: which moment is shown, how one goes to another, and what the controls do.

import { folded, markDifferences, marksOf, parting, pathTo } from "./branches.js";
import { Breaks } from "./breaks.js";
import { Choices } from "./choices.js";
import { Drawer } from "./drawer.js";
import { Film } from "./film.js";
import { Flows, travelled } from "./flows.js";
import { Forks } from "./forks.js";
import { FragmentStore } from "./fragments.js";
import { CUT, Frames } from "./frames.js";
import { settled } from "./ghosts.js";
import { lens } from "./lens.js";
import { Menu } from "./menu.js";
import { Paper } from "./paper.js";
import { all, Picture, QUIET, unmark } from "./picture.js";
import { Projector } from "./projector.js";
import { Rush } from "./rush.js";
import { Sheets } from "./sheets.js";
import { Spots } from "./spots.js";
import { TimeBar } from "./timebar.js";
import { Voice } from "./voice.js";
import { Wire } from "./wire.js";

const SETTLED = 200; // milliseconds after which the kernel hears where the reader is

export class Player {
  at = 0;
  tip = 0;
  other = -1; // the last moment of the branch to compare with; -1: none
  path = [0];
  full = [0];
  unfolded = false;
  isStory = false; // what several nodes do alike is one step
  score = [0, 0]; // answers that were right, answers given
  bets = []; // what became of those that were made in the picture

  constructor(model, box) {
    box.innerHTML = model.get("shell"); // written by the escaping builder
    this.model = model;
    this.isLive = model.get("live");
    this.isStory = Boolean(model.get("story"));
    this.root = box.firstChild;
    this.range = this.control("scrub");
    this.ask = this.part("ask");
    this.help = this.part("help");
    this.store = new FragmentStore();
    this.main = new Picture(this.part("stage"), this.store);
    this.side = new Picture(this.part("side"), this.store);
    this.flows = new Flows(this.root, this.main);
    this.choices = new Choices(this.root, () => this.settle());
    this.rush = new Rush();
    this.bar = new TimeBar((name) => this.part(name), this.range, () => this.forks?.show());
    this.forks = new Forks(this);
    this.film = new Film(this);
    this.drawer = new Drawer(this);
    this.sheets = new Sheets(this);
    this.spots = new Spots(this);
    lens(this.root);
    this.menu = new Menu(this);
    this.breaks = new Breaks(this);
    this.projector = new Projector(this);
    this.voice = new Voice(this.root, (name) => this.part(name));
    this.frames = new Frames(this);
    this.paper = new Paper(this);
    this.wire = new Wire(model, this.store, this);
    this.press("story", this.isStory);
  }

  control(name) {
    return this.root.querySelector(`[data-do="${name}"]:not(.kp-stage *)`);
  }

  part(name) {
    return this.root.querySelector(`.kp-${name}`);
  }

  isPressed(name) {
    return this.control(name).ariaPressed === "true";
  }

  press(name, on) {
    this.control(name).ariaPressed = on;
  }

  close() {
    this.pause();
    for (const timer of [this.told, this.voice.timer]) clearTimeout(timer);
    const { bar, drawer, frames, paper, projector, wire } = this;
    for (const part of [wire, frames, paper, bar, drawer, projector]) part.close();
  }

  // -- what the kernel sends

  begin({ at, tip }) {
    const start = this.model.get("start");
    this.root.setAttribute("data-my-on", ""); // its controls are there from now on
    this.pause();
    this.voice.hush();
    this.withdraw();
    this.other = -1;
    this.choices.chosen = {};
    this.breaks.begin();
    this.rush.clear();
    this.frames.begin();
    this.main.clear();
    this.side.clear();
    this.at = this.store.moments[start] ? start : at;
    this.follow(tip, this.at);
    this.show(false);
  }

  moveTo({ at, tip }) {
    const { parent, question } = this.store.moments[at];
    const hidden = this.isPressed("predict") && parent === this.at && question !== null;
    this.follow(tip, at);
    if (hidden) {
      this.show(false);
      this.inquire(at);
    } else if (at === this.at) this.show(false);
    else this.go(at, true);
    this.rush.answered();
  }

  refused(why) {
    this.pause();
    this.voice.tell(why, this.used);
  }

  // Show a moment that the page's address names.
  visit(id) {
    this.wire.then(() => {
      if (!this.store.moments[id]) return;
      this.follow(this.tip, id);
      this.go(id, false);
    });
  }

  // -- where one is

  get step() {
    return this.path.indexOf(this.at);
  }

  get isEnd() {
    return this.at === this.path.at(-1);
  }

  // Steps that nobody has drawn are none where nobody can draw them.
  pathTo(leaf, kept = this.at) {
    const path = this.fullPath(leaf);
    return this.isStory ? folded(path, this.store.moments, kept) : path;
  }

  // The same with every step: by it steps are counted.
  fullPath(leaf = this.tip) {
    const canAsk = this.isLive && !this.wire.isCut;
    const isShown = (moment) => canAsk || moment.root !== null;
    return pathTo(leaf, this.store.moments, (one) => isShown(one) && (this.unfolded || !one.inner));
  }

  follow(leaf, id = leaf) {
    this.tip = leaf;
    this.path = this.pathTo(leaf, id);
    if (!this.path.includes(id)) this.path = this.pathTo(id, id);
    this.full = this.fullPath(this.path.at(-1));
  }

  // To a moment that the reader names; what was pressed before and waits is given up.
  jump(id) {
    this.rush.clear();
    this.go(id, false);
  }

  // Along the slider; what nobody has stepped yet cannot be gone to.
  scrub(step) {
    const there = this.full[Math.min(step, this.full.length - 1)];
    this.jump(this.path.find((id) => this.full.indexOf(id) >= this.full.indexOf(there)));
    this.range.value = this.full.indexOf(this.at);
  }

  // To the cover.
  restart() {
    this.pause();
    this.root.removeAttribute("data-my-begun");
    this.jump(this.path[0]);
  }

  // The cover was read; keys are heard from the slider on.
  begun(next) {
    const within = this.root.querySelector(".kp-cover")?.contains(document.activeElement);
    this.root.setAttribute("data-my-begun", "");
    if (within) this.range.focus(QUIET);
    next?.();
  }

  go(id, animated) {
    if (id === undefined || id === this.at) return;
    this.voice.hush();
    this.menu.close();
    this.withdraw();
    const from = this.at;
    this.at = id;
    this.show(animated, from);
  }

  // Show the moment; what travelled since the one before travels once it is shown. One that breaks
  // a promise holds whatever runs, before anything else goes on.
  show(animated, from = this.at) {
    const { moments } = this.store;
    if (animated && moments[this.at].broken) this.hold();
    this.frames.given(this.at, () => this.draw(animated, travelled(from, this.at, moments)));
  }

  draw(animated, lists) {
    this.flows.begin(animated ? lists : []);
    const before = this.main.show(this.store.rootAt(this.at, this.full), animated);
    this.compare();
    this.choices.restore();
    this.hand?.release();
    this.showStep();
    this.forks.show();
    this.film.draw();
    this.spots.follow(this.main);
    this.flows.show();
    this.choices.ghosts.put(this.bets);
    this.bets = [];
    if (before) this.main.animate(before);
    this.breaks.show(animated);
    clearTimeout(this.told);
    this.told = setTimeout(() => this.wire.look(), SETTLED);
  }

  showStep() {
    const last = this.full.length - 1;
    const step = this.full.indexOf(this.at);
    const text = this.main.root.dataset.say || "";
    this.range.max = this.expected(last);
    this.range.value = step;
    const where = `step ${step} of ${this.range.max}`;
    this.range.ariaValueText = `${where}: ${text}`;
    this.root.style.setProperty("--where", `"${where}"`); // for the line above the headline
    this.bar.show(this.full, this.store.moments, step);
    this.part("where").textContent = `${step} / ${last}`;
    const isLast = step === last && !this.isLive;
    const times = step - this.full.indexOf(this.path[this.step - 1]);
    const chip = this.control("open");
    chip.hidden = !this.step || times < 2;
    chip.textContent = `×${times}`;
    chip.ariaLabel = `${times} steps in one: open them`;
    const idle = { first: !step, back: !step, step: isLast, milestone: isLast, play: isLast };
    for (const name in idle) this.control(name).ariaDisabled = idle[name];
    this.control("unfold").hidden = !this.store.moments.some((moment) => moment.inner);
    const moved = this.flows.texts(this.store.moments[this.at].flows);
    this.voice.speak([text, this.breaks.words, ...moved].filter(Boolean).join(" "));
  }

  // The steps of the slider: those that the script is known to have, until it has ended.
  expected(last) {
    return this.isEnd && this.main.box.querySelector(".kp-next.rest")
      ? last
      : Math.max(last, this.model.get("steps") || 0);
  }

  // -- branches

  chooseBranch(leaf) {
    const { full, tip } = this;
    const step = full.indexOf(this.at);
    const within = this.forks.box.contains(document.activeElement);
    this.follow(leaf);
    const apart = this.full.findIndex((id, i) => id !== full[i]);
    this.withdraw();
    this.at = this.full[Math.min(Math.max(step, apart), this.full.length - 1)];
    this.follow(leaf, this.at);
    if (this.other === leaf) this.other = -1;
    this.show(true);
    if (within) this.forks.focus(tip);
  }

  // Put a branch beside this one; again, or -1: none.
  compareWith(leaf) {
    this.other = leaf === this.other ? -1 : leaf;
    this.sheets.close();
    this.compare();
    this.choices.restore();
    this.forks.show();
  }

  // Bring the pages that nobody sees up to the shown moment, too.
  settle() {
    const behind = [this.main, this.side].map((picture) => picture.settle());
    if (behind.some(Boolean)) this.choices.restore();
  }

  // The compared branch stands beside this one, at the same step; what differs is marked.
  compare() {
    const { moments } = this.store;
    const on = this.other >= 0 && this.other !== this.tip && moments[this.other] !== undefined;
    unmark(this.root, "data-my-diff");
    const isOff = !this.root.toggleAttribute("data-my-beside", on);
    this.part("side").hidden = this.part("diff").hidden = isOff;
    if (isOff) {
      this.side.clear();
      return;
    }
    const twin = this.fullPath(this.other);
    const beside = twin[Math.min(this.full.indexOf(this.at), twin.length - 1)];
    if (moments[beside].root === null) {
      this.wire.need(beside); // what it answers compares again
      return;
    }
    this.side.show(this.store.rootAt(beside, twin), false);
    this.part("parts").textContent = parting(this.full, twin, moments);
    this.spots.follow(this.side);
    this.settle();
    markDifferences(this.main, this.side);
  }

  // -- forwards and backwards

  forward(big) {
    if (this.isEnd) {
      this.act(big ? "milestone" : "step");
      return;
    }
    const { moments } = this.store;
    const marks = ["milestone", "broken"].map((mark) => marksOf(this.path, moments, mark));
    const far = this.path.findIndex((_, i) => i > this.step && marks.some((mark) => mark[i]));
    const id = big ? this.path.at(far) : this.path[this.step + 1];
    if (this.isPressed("predict")) this.frames.given(id, () => this.predict(id));
    else this.go(id, true);
  }

  backward(big) {
    const named = marksOf(this.path, this.store.moments, "milestone");
    const far = () => named.findLastIndex((name, i) => i < this.step && name);
    this.go(this.path[Math.max(0, big ? far() : this.step - 1)], true);
  }

  act(control, element) {
    if (!this.isLive || this.wire.isCut) {
      this.pause();
      this.voice.tell(this.isLive ? CUT : this.model.get("closed"), element);
      return;
    }
    this.used = element;
    this.sheets.close(control === "mermaid" ? this.help : this.drawer);
    this.rush.begin();
    this.wire.act(control, this.at);
  }

  fork() {
    const end = "This is the end of a branch. Acting here extends it; acting earlier forks.";
    if (this.isEnd && this.isLive) this.voice.tell(end);
    else this.act("fork");
  }

  // Play by itself what nobody has stepped yet.
  start() {
    if (this.step === 0 && this.isEnd && !this.wire.isCut) this.play();
  }

  play() {
    if (this.playing) {
      this.pause();
      return;
    }
    this.press("play", true);
    this.control("play").ariaLabel = "pause";
    const next = () => (this.isEnd && !this.isLive ? this.pause() : this.forward());
    this.playing = setInterval(next, 1000 / Number(this.control("speed").value));
  }

  // Nothing goes on from here by itself, neither play nor presses that wait.
  hold() {
    this.pause();
    this.rush.clear();
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    this.press("play", false);
    this.control("play").ariaLabel = "play";
  }

  // -- predict, then reveal: the next step stays hidden until the reader has said what it will be

  predict(id) {
    if (this.store.moments[id].question === null) this.go(id, true);
    else this.inquire(id);
  }

  inquire(id) {
    this.hold();
    this.voice.hush();
    // Asked again, what is ticked stays.
    if (this.asked !== id)
      this.ask.innerHTML = this.store.html(this.store.moments[id].question);
    this.asked = id;
    this.ask.hidden = false;
    this.ask.querySelector("input").focus();
    this.voice.speak(this.ask.querySelector("legend").textContent);
  }

  // What was right in an answer is named first; then the step is shown. Nobody may have answered:
  // `by` is the button that did.
  answer(by) {
    let told = this.ask.firstChild.dataset.because;
    if (by) {
      const boxes = all(this.ask, "input");
      const votes = this.elect(boxes);
      if (!this.ask.querySelector(":checked")) {
        this.voice.tell("Tick at least one box.", by);
        return;
      }
      this.bets = settled(boxes);
      this.score[0] += boxes.every((box) => box.checked === box.hasAttribute("data-right"));
      this.score[1] += 1;
      const [right, of] = this.score;
      const score = `Score: ${right} of ${of}.`;
      told = `${verdict(boxes)}${told}${votes} ${score}`;
    }
    this.go(this.asked, true);
    this.range.focus();
    this.voice.tell(told);
  }

  // A key of a choice: it ticks that, or is a vote for it.
  bet(key) {
    const label = all(this.ask, "label").find((one) =>
      one.querySelector("kbd")?.textContent === key);
    if (!label) return;
    const box = label.querySelector("input");
    if (this.isPressed("vote")) {
      label.dataset.votes = votesOf(label) + 1;
      this.showVotes();
    } else box.checked = !box.checked;
    this.choices.restoreLight();
  }

  showVotes() {
    const labels = all(this.ask, "label");
    const most = Math.max(1, ...labels.map(votesOf));
    for (const label of labels) {
      const bar = label.querySelector("progress");
      if (bar) Object.assign(bar, { max: most, value: votesOf(label), hidden: false });
      label.lastChild.textContent = bar ? votesOf(label) : "";
    }
  }

  vote() {
    this.press("vote", !this.isPressed("vote"));
    this.showVotes();
  }

  // Of a class that has voted the answer is what most have voted for.
  elect(boxes) {
    const labels = boxes.map((box) => box.parentNode).filter(votesOf);
    if (!labels.length) return "";
    const most = Math.max(...labels.map(votesOf));
    for (const box of boxes) box.checked = votesOf(box.parentNode) === most;
    const counts = labels.map((one) => `${one.querySelector("input").value} ${votesOf(one)}`);
    return ` Votes: ${counts.join(", ")}.`;
  }

  // The step stays hidden; the question is asked again. Tell whether one was asked.
  withdraw() {
    if (this.ask.hidden) return false; // as in most steps
    if (this.ask.contains(document.activeElement)) this.range.focus();
    this.ask.hidden = true;
    this.asked = null;
    this.choices.restoreLight();
    return true;
  }

  togglePredict() {
    this.press("predict", !this.isPressed("predict"));
    this.withdraw();
  }

  // -- modes

  toggleHelp(opener) {
    this.help.hidden = !this.help.hidden;
    if (this.help.hidden) this.opener?.focus();
    else {
      this.opener = opener || document.activeElement;
      this.help.focus();
    }
  }

  // Fold what several nodes do alike into one step, or open it again.
  toggleStory(on = !this.isStory) {
    this.isStory = on;
    this.press("story", on);
    this.follow(this.tip, this.at);
    this.show(false);
  }

  toggleUnfold() {
    this.unfolded = !this.unfolded;
    this.press("unfold", this.unfolded);
    this.path = this.pathTo(this.tip);
    this.full = this.fullPath();
    this.at = this.path.findLast((id) => id <= this.at);
    this.show(false);
  }
}

function votesOf(label) {
  return Number(label.dataset.votes || 0);
}

// What of an answer is right, what is not, and what it lacks.
function verdict(boxes) {
  const named = (word, ticked, right) => {
    const meant = (box) => box.checked === ticked && box.hasAttribute("data-right") === right;
    const names = boxes.filter(meant).map(({ value }) => value).join("; ");
    return names && `${word}: ${names}. `;
  };
  return named("Right", true, true) + named("Wrong", true, false)
    + named("Missing", false, true);
}

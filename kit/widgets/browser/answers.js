// The exercises of a lesson: what is written into a box is judged by a Python of its own, which is
// ended when one stops it. What was solved this browser remembers, where it may, and what is
// written as long as its tab is open.

import { Engine } from "./engine.js";
import { remember, remembered } from "./memory.js";

const SOLVED = "kit-solved";
const FOR_GOOD = "localStorage";
const EACH_SECOND = 1000;

export class Answers {
  constructor(boxes, fetched, place) {
    Object.assign(this, { fetched, place });
    for (const box of boxes) {
      box.addEventListener("click", ({ target }) => this.press(box, target.dataset.do));
      const text = box.querySelector("textarea");
      const name = `kit-answer ${box.dataset.exercise}`;
      text.value = remembered(name) || text.value; // an emptied box begins again
      text.addEventListener("input", () => remember(name, text.value));
      if (solved().includes(box.dataset.exercise)) this.say(box, place.solved);
    }
  }

  say(box, words) {
    box.querySelector(".told").textContent = words;
  }

  press(box, name) {
    if (name === "check" && !this.box) this.judge(box);
    if (name === "stop" && this.box === box) {
      this.engine.end();
      this.engine = undefined;
      this.end(this.place.stopped);
    }
  }

  judge(box) {
    this.busy(box, true);
    box.querySelector(".verdict").replaceChildren();
    const began = Date.now();
    this.words = this.place[this.engine ? "judging" : "judge"];
    this.counted = "";
    const tell = () => {
      const seconds = Math.round((Date.now() - began) / EACH_SECOND);
      const said = [this.words, this.counted, seconds && `${seconds} s`];
      this.say(box, said.filter(Boolean).join(" "));
    };
    tell();
    this.timer = setInterval(tell, EACH_SECOND);
    const failed = (why) => {
      this.engine = undefined;
      this.end(String(why));
    };
    this.engine ??= new Engine(this.fetched, (said) => this.hear(JSON.parse(said)), failed);
    this.engine.ask("judge", { program: box.querySelector("textarea").value });
  }

  hear({ judging, counted, answered }) {
    if (judging) this.words = this.place.judging;
    if (counted !== undefined) this.counted = counted;
    if (!answered) return;
    const { box } = this;
    box.querySelector(".verdict").innerHTML = answered.html; // written by the escaping builder
    if (answered.passed) keep(box.dataset.exercise);
    this.end(answered.passed ? this.place.solved : "");
  }

  end(words) {
    clearInterval(this.timer);
    this.say(this.box, words);
    this.busy(this.box, false);
  }

  busy(box, on) {
    this.box = on ? box : undefined;
    box.querySelector("[data-do=stop]").hidden = !on;
    box.querySelector("[data-do=check]").disabled = on;
  }
}

function solved() {
  return remembered(SOLVED, FOR_GOOD) ?? [];
}

function keep(name) {
  remember(SOLVED, [...new Set([...solved(), name])], FOR_GOOD);
}

// A Player whose session is in a worker, and its drawer, if it has one: what the page says is asked
// there, and what comes from there it hears.

import { listen } from "./controls.js";
import { Desk } from "./desk.js";
import { Hand } from "./hand.js";
import { linked } from "./linked.js";
import { Player } from "./player.js";

export class Seat {
  constructor(box, { pack, shell, story }, fetched, place, ask) {
    this.traits = { pack, shell, live: true, plays: false, steps: 0, story };
    const { model, hear } = linked(this.traits, ask);
    const player = new Player(model, box);
    player.hand = new Hand(player);
    listen(player);
    player.drawer.attach(box.parentElement);
    Object.assign(this, { player, pass: hear });
    const { sheet } = player.drawer;
    if (!sheet) return;
    this.desk = new Desk(sheet, fetched, place, ask);
    const pressed = ({ target }) => target.closest("[data-do=setup]") && this.desk.begin();
    box.addEventListener("click", pressed);
  }

  hear(said) {
    const told = typeof said === "string" ? JSON.parse(said) : said;
    if (told.drawer !== undefined) this.desk.show(told.drawer);
    else if (told.search) this.desk.search(told.search);
    else if (told.inquire) this.desk.inquire(told.inquire);
    else if (told.halt) this.desk.halt();
    else if (told.link) this.linked(told);
    else this.pass(told);
  }

  // The address shall carry a run.
  linked() {}

  arrived() {
    this.player.wire.then(() => this.player.wire.sync());
  }

  // Without an engine the story can be read still.
  failed(words) {
    this.player.isLive = false;
    this.traits.closed = words;
  }
}

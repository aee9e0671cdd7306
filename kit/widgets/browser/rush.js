// Presses that come faster than the kernel answers wait their turn, so that none is lost and each
// is for the moment that is shown when its turn comes. A kernel that stays silent holds up nothing.

const PATIENCE = 5000; // milliseconds

export class Rush {
  waiting = [];
  since = null;

  get isBusy() {
    return this.since !== null && performance.now() - this.since < PATIENCE;
  }

  // The kernel was asked for something.
  begin() {
    this.since = performance.now();
  }

  do(press) {
    if (this.isBusy) this.waiting.push(press);
    else press();
  }

  // The kernel has answered: what waited goes on, until it is asked again.
  answered() {
    this.since = null;
    while (this.waiting.length && !this.isBusy) this.waiting.shift()();
  }

  clear() {
    this.waiting = [];
    this.since = null;
  }
}

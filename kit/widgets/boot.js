const named = () => /^#step-(\d+)$/.exec(location.hash), heard = {};
const box = document.getElementById("player");
const bytes = Uint8Array.from(atob(document.getElementById("pack").textContent), (one) => one.charCodeAt(0));
const traits = {
  pack: bytes, shell: box.innerHTML, live: false, closed: box.dataset.closed,
  start: named() && Number(named()[1]),
};
player.render({ el: box, model: {
  get: (name) => traits[name],
  on: (name, hear) => { heard[name] = hear; },
  off() {},
  send: ({ position }) => { if (position) history.replaceState(null, "", `#step-${position.at}`); },
} });
addEventListener("hashchange", () => named() && heard["msg:custom"]({ look: Number(named()[1]) }));
addEventListener("keydown", (event) => { // on a page of its own the keys work wherever one is
  if (event.target !== document.body) return;
  event.preventDefault();
  box.firstElementChild.dispatchEvent(new KeyboardEvent("keydown", event));
});

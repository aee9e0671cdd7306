// What both pages of a class have in common: a line that is tried again when it is cut, words for
// what went wrong, and contents that are replaced without taking the focus away.

const LATER = 2000; // milliseconds until a line that was cut is tried again
const REFUSED = 1008; // the room has ended the line, and said why
const part = (id) => document.getElementById(id);

export function tell(words) {
  if (part("wrong").textContent !== words) part("wrong").textContent = words;
}

// `opened` says what is said first; `hear` takes what comes. Where the room refused, what it said
// stays there: a page that is `once` is over then.
export function connect(name, { opened, hear, once = false }) {
  const { cut } = document.body.dataset;
  const end = { say: () => false };
  const open = () => {
    const line = new WebSocket(new URL(name, location.href.replace(/^http/, "ws")));
    line.binaryType = "arraybuffer";
    end.say = (content) => {
      const isOpen = line.readyState === WebSocket.OPEN;
      if (isOpen) line.send(JSON.stringify(content));
      return isOpen;
    };
    line.onopen = () => {
      if (part("wrong").textContent === cut) tell("");
      opened();
    };
    line.onmessage = ({ data }) => hear(data);
    line.onclose = ({ code }) => {
      if (code === REFUSED && once) return;
      if (code !== REFUSED) tell(cut);
      setTimeout(open, LATER);
    };
  };
  open();
  return end;
}

// What is the same stays as it is. What has the focus keeps it: its like there, else the heading,
// where one reads on.
export function replace(box, html) {
  if (box.html === html) return;
  box.html = html;
  const had = box.contains(document.activeElement);
  const { act, node } = document.activeElement?.dataset ?? {};
  box.innerHTML = html;
  const same = act ? `[data-act="${act}"]` : node && `[data-node="${CSS.escape(node)}"]`;
  if (had) focusOn((same && box.querySelector(`button${same}`)) || box.querySelector("h2,ul"));
}

export function focusOn(element) {
  if (!element?.matches("button,input")) element?.setAttribute("tabindex", -1);
  element?.focus();
}

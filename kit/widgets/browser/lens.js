// The lens of a heat map: what is pointed at or has the focus stands in a line below.
export function lens(root) {
  const show = ({ target }) => {
    const part = target.closest?.("[data-lens]");
    const line = part?.ownerSVGElement.querySelector(".lens");
    if (line) line.textContent = part.querySelector("title").textContent;
  };
  for (const name of ["pointerover", "focusin"]) root.addEventListener(name, show);
}

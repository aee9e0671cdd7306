"""What is wrong with the words of the drawings that a page shows: one over another, cut, small."""

from __future__ import annotations

# A letter's box is larger than its ink: what is looked at is so much smaller than the box.
FLAWS = """() => {
  const [LEAST, AIR] = [10.9, 0.18];
  const words = (text) => text.textContent.trim();
  // Nothing moves while this looks: what was measured once is known.
  const once = (measure) => {
    const known = new Map();
    return (one) => {
      if (!known.has(one)) known.set(one, measure(one));
      return known.get(one);
    };
  };
  const box = once((one) => {
    const { left, right, top, bottom, height } = one.getBoundingClientRect();
    return { left, right, top, bottom, height };
  });
  const ink = once((one) => {
    const { left, right, top, bottom, height } = box(one);
    const [over, under] = [top + AIR * height, bottom - AIR * height];
    return { left: left + 1, right: right - 1, top: over, bottom: under };
  });
  const meet = (a, b) => a.left < b.right && b.left < a.right
    && a.top < b.bottom && b.top < a.bottom;
  const within = (a, b) => a.left >= b.left && a.right <= b.right
    && a.top >= b.top && a.bottom <= b.bottom;
  const after = (a, b) => a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING;
  const size = (text) => parseFloat(getComputedStyle(text).fontSize)
    * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b);
  // Words whose boxes do not meet from above stand in lines of their own.
  const lines = (one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const rows = [...range.getClientRects()].filter((row) => row.width && row.height);
    let [count, end] = [0, -Infinity];
    for (const row of rows.sort((a, b) => a.top - b.top)) {
      if (row.top > end - 3) count += 1;
      end = Math.max(end, row.bottom);
    }
    return count;
  };
  const found = new Set();
  for (const svg of document.querySelectorAll(".kp-board svg:not(.kp-flow)")) {
    if (!svg.checkVisibility()) continue;
    const around = box(svg);
    const papers = [...svg.querySelectorAll(".paper")];
    const hidden = (text) => papers.some((paper) => after(text, paper)
      && within(ink(text), box(paper)));
    const halved = (text) => papers.some((paper) => after(text, paper)
      && meet(ink(text), box(paper)) && !within(ink(text), box(paper)));
    const texts = [...svg.querySelectorAll("text")].filter((one) =>
      words(one) && one.checkVisibility({ visibilityProperty: true })
      && one.getClientRects().length && !hidden(one));
    texts.forEach((one, i) => {
      if (!within(ink(one), around)) found.add(`cut: ${words(one)}`);
      if (halved(one)) found.add(`half under another: ${words(one)}`);
      if (size(one) < LEAST) found.add(`${size(one).toFixed(1)} px: ${words(one)}`);
      for (const other of texts.slice(i + 1))
        if (meet(ink(one), ink(other))) found.add(`${words(one)} over ${words(other)}`);
    });
  }
  const names = [...document.querySelectorAll(".kp-ticks b")];
  names.forEach((one, i) => {
    for (const other of names.slice(i + 1))
      if (meet(ink(one), ink(other))) found.add(`time bar: ${words(one)} over ${words(other)}`);
  });
  // A label that is drawn later lies over the line, and has air around it.
  const over = (path, label) => label.closest(".kp-flow") && after(path, label);
  const drawn = [...document.querySelectorAll(".kp-board svg text")]
    .filter((one) => words(one) && one.checkVisibility({ visibilityProperty: true }));
  for (const path of document.querySelectorAll(".kp-flow.arrow path")) {
    const [length, place] = [path.getTotalLength(), path.getScreenCTM()];
    for (let far = 0; far < length; far += 3) {
      const { x, y } = path.getPointAtLength(far).matrixTransform(place);
      const at = { left: x, right: x, top: y, bottom: y };
      for (const one of drawn)
        if (!path.parentNode.contains(one) && !over(path, one) && meet(at, ink(one)))
          found.add(`an arrow over ${words(one)}`);
    }
  }
  for (const label of document.querySelectorAll(".kp-flow text"))
    for (const one of drawn)
      if (one !== label && words(label) && meet(ink(one), ink(label)))
        found.add(`${words(label)}, which travels, over ${words(one)}`);
  // What is higher is no chip but a place for some.
  const chips = [...document.querySelectorAll(".kp-picture rect, .kp-picture .chip")]
    .filter((one) => box(one).height < 40 && one.checkVisibility({ visibilityProperty: true }));
  for (const label of document.querySelectorAll(".kp-flow.arrow text"))
    for (const chip of chips)
      if (words(label) && meet(box(chip), ink(label))) found.add(`${words(label)} over a chip`);
  // Within a larger box there is room for a label; across its edge it is hard to read.
  const boxes = [...document.querySelectorAll(".kp-picture rect, .kp-picture .cell")]
    .filter((one) => box(one).height >= 40 && one.checkVisibility({ visibilityProperty: true }));
  for (const label of document.querySelectorAll(".kp-flow.arrow text"))
    for (const one of boxes)
      if (words(label) && meet(box(one), ink(label)) && !within(ink(label), box(one)))
        found.add(`${words(label)} over an edge`);
  for (const row of document.querySelectorAll(`.kp-title, .kp-badges, .kp-kicker,
      .kp-foot, .kp-acts, .kp-tabs`))
    if (row.scrollWidth > row.clientWidth + 1) found.add(`${row.className}: cut`);
  for (const slot of document.querySelectorAll(".kp-stage .kp-next"))
    if (slot.scrollHeight > slot.clientHeight + 2) found.add(`cut: ${words(slot)}`);
  for (const name of document.querySelectorAll(".kp-gates b"))
    if (lines(name) > 3) found.add(`many lines of a gate: ${words(name)}`);
  const tabs = [...document.querySelectorAll(".kp-stage .kp-tabs>[data-tab]")];
  if (new Set(tabs.map((tab) => box(tab).top)).size > 1) found.add("tabs in two lines");
  for (const badge of document.querySelectorAll(".kp-kicker li, .kp-acts summary"))
    if (lines(badge) > 2) found.add(`${words(badge)}: in many lines`);
  const title = document.querySelector(".kp-stage .kp-title b");
  if (lines(title) > 2) found.add(`${words(title)}: in many lines`);
  for (const sign of document.querySelectorAll(".kp-page tr svg:not([width])"))
    if (sign.clientWidth > 24) found.add(`a sign of ${sign.clientWidth} px in a row`);
  return [...found];
}"""

# Words beside the drawings that are smaller than may be.
SMALL_WORDS = """() => {
  const found = new Set();
  const texts = document.createTreeWalker(document.querySelector(".kp"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const [words, one] = [texts.currentNode.data.trim(), texts.currentNode.parentElement];
    if (!words || one.closest("svg") || !one.checkVisibility()) continue;
    const size = parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom;
    if (size < 12.9) found.add(`${size.toFixed(1)} px: ${words}`);
  }
  return [...found];
}"""

# Words of drawings that hardly stand out from the shape that lies behind them, or from the board.
FAINT_WORDS = """() => {
  const LEAST = 4.5;
  const mixed = (colour) => colour.startsWith("color(srgb");
  const numbers = (colour) => colour.match(/[\\d.]+/g)
    .map((part, i) => Number(part) * (mixed(colour) && i < 3 ? 255 : 1));
  const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [red, green, blue] = numbers(colour).map((part) => linear(part / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [less, more] = [light(one), light(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  const filled = (fill) => fill !== "none" && (numbers(fill)[3] ?? 1) > 0.5;
  const board = getComputedStyle(document.querySelector(".kp")).backgroundColor;
  const found = new Set();
  for (const svg of document.querySelectorAll(".kp-board svg")) {
    if (!svg.checkVisibility()) continue;
    const shapes = [...svg.querySelectorAll("rect, circle, ellipse, polygon, path")]
      .map((shape) => [shape, getComputedStyle(shape).fill]).filter(([, fill]) => filled(fill));
    for (const text of svg.querySelectorAll("text")) {
      const words = text.textContent.trim();
      if (!words || !text.checkVisibility({ visibilityProperty: true })) continue;
      if (!text.getClientRects().length) continue;
      if (getComputedStyle(text).fill === "none") continue;
      const { x, y, width, height } = text.getBoundingClientRect();
      const middle = new DOMPoint(x + width / 2, y + height / 2);
      const covers = ([shape]) => text.compareDocumentPosition(shape) & 2
        && shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()));
      const behind = shapes.findLast(covers)?.[1] ?? board;
      // What has an edge of its own stands out from that.
      const { fill, stroke, paintOrder } = getComputedStyle(text);
      const edged = paintOrder.startsWith("stroke") && stroke !== "none";
      const around = edged ? stroke : behind;
      if (contrast(fill, around) < LEAST) found.add(`faint: ${words}`);
    }
  }
  return [...found];
}"""

TABS_WITH_DRAWINGS = """() => [...new Set([...document.querySelectorAll(
  ".kp-stage .kp-tabs [data-tab]")].map((one) => one.dataset.tab))]
  .filter((name) => document.querySelector(`.kp-page.${CSS.escape(name)} svg text`))"""

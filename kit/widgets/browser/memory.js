// What a browser remembers of a page, as JSON: until its tab is closed, or for good in its
// `localStorage`. It may be told to keep nothing, which is said; and others may write there.

const UNTIL_CLOSED = "sessionStorage";

export function remembered(name, where = UNTIL_CLOSED) {
  try {
    return JSON.parse(self[where].getItem(name));
  } catch {
    return null;
  }
}

export function remember(name, value, where = UNTIL_CLOSED) {
  try {
    self[where].setItem(name, JSON.stringify(value));
  } catch {
    const note = document.getElementById("note"); // a page that says so otherwise has none
    if (note) note.textContent = note.dataset.unkept;
  }
}

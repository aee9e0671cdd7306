// The words of the interface: kit/edge/words.py puts those of the reader's language here, and the
// rule that says which form goes with a number in the place of this one.

const formOf = (n) => Number(n !== 1);

export function say(forms, values = {}) {
  const text = Array.isArray(forms) ? forms[formOf(values.n)] : forms;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// node core.mjs CORE WHEEL FOLDER … < TEXT: runs a Python text in the Python of a page, and prints what
// it prints. The folders are searched for modules, and may be written into; `places` are theirs.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [core, wheel, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${core}/pyodide.mjs`));
const heard = { stdout: console.log, stderr: console.error };
// What is compiled here says of each line its number alone: a quarter less to fetch.
const python = await loadPyodide({ indexURL: core, args: ["-X", "no_debug_ranges"], ...heard });
const bytes = new Uint8Array(readFileSync(wheel)).buffer;
python.unpackArchive(bytes, "zip", { extractDir: "/packages" });
const places = folders.map((folder, number) => {
  python.mountNodeFS(`/mnt${number}`, folder);
  return `/mnt${number}`;
});
python.globals.set("places", python.toPy(places));
python.runPython("import sys; sys.path[:0] = [*places, '/packages']; sys.dont_write_bytecode = True");
try {
  python.runPython(readFileSync(0, "utf8"));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

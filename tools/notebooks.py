"""Runs every notebook again and stores outputs that read well without a kernel.

A stored live widget shows as an error on a code host and in a closed notebook, so of each output
only its picture and its text are kept. Execution times and widget state are removed as well, so
that running this twice changes nothing.
"""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tools.linking import linked

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
LIVE = "application/vnd.jupyter.widget-view+json"
LONGEST_CELL = 120  # seconds


def strip(notebook: Any) -> Any:
    """Remove, in place, what differs from run to run and what needs a kernel."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    # The version of Python that ran it is the machine's affair.
    notebook.metadata["language_info"] = {"name": "python"}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell["outputs"] = _joined([kept for kept in map(_stripped, cell.outputs) if kept])
    return notebook


def _stripped(output: Any) -> Any:
    """Give the output without its live form; None when nothing else was in it."""
    data = output.get("data")
    if data is None or LIVE not in data:
        return output
    del data[LIVE]
    return output if data else None


def _joined(outputs: list[Any]) -> list[Any]:
    """Join what was printed in pieces: where a stream is cut is the machine's affair, too."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else {}
        named = output.get("output_type") == "stream" == last.get("output_type")
        if named and output["name"] == last["name"]:
            last["text"] += output["text"]
        else:
            found.append(output)
    return found


def main() -> int:
    """Run and store the notebooks named on the command line, or all of them."""
    os.environ["KIT_SOLVED"] = f"{os.devnull}/nobody"  # stored is the map of a new learner
    paths = [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        print(f"notebooks: {path.name}", flush=True)
        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(
            notebook,
            timeout=LONGEST_CELL,
            kernel_name="python3",
            store_widget_state=False,
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute()
        nbformat.validate(linked(strip(notebook), path.name))
        nbformat.write(notebook, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

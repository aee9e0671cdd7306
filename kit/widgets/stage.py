"""The stage: the one widget with a browser module of its own."""

from __future__ import annotations

import anywidget
import traitlets

from kit.views.assets import widget_module
from kit.views.export import CLOSED
from kit.views.shell import shell
from kit.views.styles import widget_style


class Stage(anywidget.AnyWidget):
    """Shows the frames it is sent and reports what its reader does. Holds no protocol facts."""

    _esm = widget_module()
    _css = widget_style()
    pack = traitlets.Bytes().tag(sync=True)
    shell = traitlets.Unicode(shell().html()).tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)
    plays = traitlets.Bool(False).tag(sync=True)
    closed = traitlets.Unicode(CLOSED).tag(sync=True)

    def __repr__(self) -> str:
        return "Stage()"

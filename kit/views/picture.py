"""The style of drawings, shared by the live page and by images that stand alone."""

SVG_STYLE = """
svg{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
text{fill:var(--ink);stroke:none}
text.soft{fill:var(--soft);font-size:11px}
text.on{fill:var(--outline);font-weight:600}
.track{fill:none;stroke:var(--edge);stroke-width:2}
.tick{fill:none;stroke:var(--edge)}
.tick{stroke-width:1.5}
.ticks{fill:none;stroke:var(--ink);stroke-width:3}
.body{fill:var(--chip);stroke:var(--outline);stroke-width:2}
.square .body{fill:#cdd3dc}
.diamond .body{fill:#ecdcc3}
.triangle .body{fill:#d3e6d2}
.hexagon .body{fill:#ddd0ea}
.pentagon .body{fill:#f2d5d5}
.joining .body{fill:var(--added);stroke-dasharray:4 3}
.leaving .body{fill:var(--removed);stroke-dasharray:4 3}
.down .body{fill:var(--edge)}
.to-replica{fill:none;stroke:var(--accent);stroke-width:1.5}
.lock{fill:none;stroke:var(--soft);stroke-width:5;stroke-dasharray:1.5 3}
.focus{fill:none;stroke:var(--line);stroke-width:12}
.box{fill:var(--chip);stroke:var(--outline);stroke-width:1.5}
.done .box{fill:var(--holds)}
.next .box{fill:var(--changed);stroke-width:3}
.wire{fill:none;stroke:var(--edge);stroke-width:1.5}
.bar{fill:var(--holds);stroke:var(--outline)}
.bar.behind{fill:var(--chip)}
.bar.held{fill:var(--chip);stroke-dasharray:3 2}
.paper{fill:var(--bg)}
.added .body{fill:var(--added)}
.removed .body{fill:var(--removed);stroke-dasharray:4 3}
.lock-glyph{fill:var(--bg);stroke:var(--ink);stroke-width:1.5}
.lock-body{fill:var(--ink)}
.lock-bow{fill:none;stroke:var(--ink);stroke-width:1.5}
.tip{fill:var(--edge);stroke:var(--edge)}
.dashed{stroke-dasharray:4 3}
.lit .box{fill:var(--changed);stroke-width:3}
.taken .wire{stroke:var(--ink);stroke-width:2.5}
.taken .tip{fill:var(--ink);stroke:var(--ink)}
text.tag{font-size:11px;paint-order:stroke;stroke:var(--bg);stroke-width:3px}
text.strong{font-weight:600}
text.tag.on{stroke:none}
.life{fill:none;stroke:var(--edge);stroke-width:1.5}
.message{fill:none;stroke:var(--accent);stroke-width:2}
.away{stroke-dasharray:2 5}
.answer{fill:none;stroke:var(--soft);stroke-width:1.3}
.error{stroke:var(--broken);stroke-width:2;stroke-dasharray:6 3}
.cross{fill:none;stroke:var(--broken);stroke-width:3}
.copy{fill:none;stroke:var(--ink);stroke-width:2;stroke-dasharray:1.5 4}
.dot{fill:var(--ink);stroke:var(--bg)}
.stop{fill:var(--chip);stroke:var(--outline);stroke-width:1.5}
.holds{fill:var(--holds)}
.fails{fill:var(--broken)}
.span .bar{fill:var(--chip);stroke:var(--edge)}
.span.open .bar{stroke-dasharray:4 3}
.request{fill:var(--chip);stroke:var(--outline);stroke-width:1.5}
.request.open{stroke-dasharray:4 3}
.request.good{fill:var(--holds)}
.request.failed{fill:var(--line)}
.request.wrong{fill:var(--broken);stroke-width:3}
.barrier{stroke:var(--ink);stroke-width:2;stroke-dasharray:5 3}
"""

"""A badge for a README: the level, and whether that was on hardware. As a picture, or as shields.io reads it."""

from __future__ import annotations

import json
from html import escape

from accelplug.conformance.records import ConformanceReport

LABEL = "accelplug"
COLOURS = {  # by level; shields.io's names, and what they look like
    "": ("lightgrey", "#9f9f9f"),
    "detects": ("yellow", "#dfb317"),
    "computes": ("yellowgreen", "#a4a61d"),
    "compiles": ("green", "#97ca00"),
    "serves": ("brightgreen", "#4c1"),
    "scales": ("blue", "#007ec6"),
}
WIDTH = 6.6  # of a character, in pixels, at font size 11
PADDING = 10


def words(report: ConformanceReport) -> str:
    """``serves · simulated``."""
    return f"{report.standing.level or 'no level'} · {'simulated' if report.simulated else 'hardware'}"


def endpoint(report: ConformanceReport) -> str:
    """JSON in the form of shields.io's endpoint badge."""
    colour, _ = COLOURS[report.standing.level]
    label = f"{LABEL} {report.device}"
    return json.dumps({"schemaVersion": 1, "label": label, "message": words(report), "color": colour}) + "\n"


def svg(report: ConformanceReport) -> str:
    """A picture that needs nothing from elsewhere. A simulated device's is hatched: it says nothing about hardware."""
    left, right = f"{LABEL} {report.device}", words(report)
    widths = [round(len(text) * WIDTH) + PADDING for text in (left, right)]
    _, colour = COLOURS[report.standing.level]
    total = sum(widths)
    hatch = '<rect width="100%" height="20" fill="url(#s)"/>' if report.simulated else ""
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{escape(left)}: {right}">
<title>{escape(left)}: {right}</title>
<defs>
<clipPath id="r"><rect width="{total}" height="20" rx="3"/></clipPath>
<pattern id="s" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="2" height="6" fill="#fff" fill-opacity=".18"/></pattern>
</defs>
<g clip-path="url(#r)"><rect width="{total}" height="20" fill="#555"/>
<svg x="{widths[0]}" width="{widths[1]}" height="20"><rect width="100%" height="20" fill="{colour}"/>{hatch}</svg></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{widths[0] / 2:g}" y="14" textLength="{widths[0] - PADDING}">{escape(left)}</text>
<text x="{widths[0] + widths[1] / 2:g}" y="14" textLength="{widths[1] - PADDING}">{escape(right)}</text>
</g>
</svg>
"""

"use strict";
// The timeline on a canvas. Each row of a lane holds events that don't overlap, by time, so that what is in sight is
// found by halving, and what would be narrower than a pixel is drawn once for all that share it.

const RULER = 24, ROW = 18, GAP = 8, HEADING = 20, LEAST = 50; // pixels; nanoseconds that fill the view at most
const COLOUR_OF = { "graph with fallbacks": "mixed" };

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const canvas = $("canvas"), draw = canvas.getContext("2d"), tip = $("tip");

// Rows

const lanes = data.lanes.map((lane) => {
  const rows = Array.from({ length: lane.rows }, () => ({ began: [], ended: [], index: [] }));
  const began = [];
  let time = 0;
  lane.gaps.forEach((gap, index) => {
    began.push((time += gap));
    const row = rows[lane.depth[index]];
    row.began.push(time);
    row.ended.push(time + lane.lasted[index]);
    row.index.push(index);
  });
  return { ...lane, rows, began };
});

const hidden = new Set();
const state = { from: 0, to: Math.max(data.lasted, 1), selected: null, matches: [], matching: new Set(), at: -1 };
let places = [], height = 0, width = 0, gutter = 0, colours = {};

function theme(name) {
  document.documentElement.dataset.theme = name;
  const style = getComputedStyle(document.documentElement);
  const read = (variable) => style.getPropertyValue(`--${variable}`).trim();
  colours = { page: read("panel"), text: read("text"), soft: read("soft"), line: read("line"), row: read("row"),
    match: read("match"), accent: read("accent"), kinds: data.kinds.map((kind) => read(COLOUR_OF[kind] || kind)) };
}

function layout() {
  width = canvas.clientWidth;
  gutter = Math.min(190, Math.max(84, width * 0.2));
  places = [];
  let top = RULER, owner = null;
  for (const lane of lanes) {
    if (lane.owner !== owner) {
      owner = lane.owner;
      places.push({ heading: owner, top });
      top += HEADING;
    }
    places.push({ lane, top });
    top += lane.rows.length * ROW + GAP;
  }
  height = top + GAP;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
}

const scale = () => (width - gutter) / (state.to - state.from); // pixels a nanosecond
const x = (time) => gutter + (time - state.from) * scale();
const timeAt = (pixel) => state.from + (pixel - gutter) / scale();

function firstAfter(sorted, time) { // the first index whose value is above `time`
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

// Drawing

let waiting = false;
function show() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; paint(); });
}

function paint() {
  draw.fillStyle = colours.page;
  draw.fillRect(0, 0, width, height);
  draw.font = "12px system-ui, sans-serif";
  draw.textBaseline = "middle";
  ruler();
  for (const place of places) if (place.lane) paintLane(place);
  draw.fillStyle = colours.line;
  draw.fillRect(gutter - 1, 0, 1, height);
  for (const place of places) if (place.heading) paintHeading(place);
}

function paintHeading({ heading, top }) {
  draw.fillStyle = colours.row;
  draw.fillRect(0, top, width, HEADING - 3);
  draw.fillStyle = colours.text;
  draw.font = "600 12px system-ui, sans-serif";
  draw.fillText(fitting(heading, width - 16), 8, top + HEADING / 2 - 1);
  draw.font = "12px system-ui, sans-serif";
}

function paintLane({ lane, top }) {
  lane.rows.forEach((row, depth) => paintRow(lane, row, top + depth * ROW));
  draw.fillStyle = colours.page;
  draw.fillRect(0, top, gutter - 1, lane.rows.length * ROW + GAP);
  draw.fillStyle = colours.soft;
  draw.fillText(fitting(lane.name, gutter - 16), 8, top + ROW / 2);
}

function paintRow(lane, row, top) {
  let painted = gutter - 1, fell = gutter - 1; // up to these pixels; what fell back is never hidden by what didn't
  for (let i = firstAfter(row.ended, state.from); i < row.began.length && row.began[i] < state.to; i++) {
    const index = row.index[i], kind = lane.kind_of[index];
    if (hidden.has(kind)) continue;
    const left = Math.max(x(row.began[i]), gutter), right = Math.min(x(row.ended[i]), width);
    const matches = state.matching.has(lane.name_of[index]);
    const chosen = state.selected && state.selected.lane === lane && state.selected.index === index;
    const falls = data.kinds[kind] === "fallback" && right >= fell + 0.5;
    if (right < painted + 0.5 && !matches && !chosen && !falls) continue;
    if (falls) fell = right;
    const wide = Math.max(right - left, 1);
    const faded = state.matching.size > 0 && !matches;
    draw.globalAlpha = faded ? 0.3 : 1;
    draw.fillStyle = colours.kinds[kind];
    draw.fillRect(left, top, wide > 3 ? wide - 0.5 : wide, ROW - 2);
    draw.globalAlpha = 1;
    if (matches) { draw.fillStyle = colours.match; draw.fillRect(left, top + ROW - 5, wide, 3); }
    if (chosen) { draw.strokeStyle = colours.text; draw.lineWidth = 2; draw.strokeRect(left, top, wide, ROW - 2); }
    if (wide > 34) label(data.names[lane.name_of[index]], left, top, wide, faded ? colours.text : readable(colours.kinds[kind]));
    painted = Math.max(painted, right);
  }
}

function label(text, left, top, wide, colour) {
  draw.fillStyle = colour;
  draw.fillText(fitting(text, wide - 8), left + 4, top + ROW / 2 - 1);
}

const contrasts = {};
function readable(colour) { // black or white, whichever is easier to read on it
  if (!contrasts[colour]) {
    const [r, g, b] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
    contrasts[colour] = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#101214" : "#ffffff";
  }
  return contrasts[colour];
}

function fitting(text, room) {
  if (draw.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (draw.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
  }
  return low ? text.slice(0, low) + "…" : "";
}

function ruler() {
  const room = (width - gutter) / Math.max(2, Math.floor((width - gutter) / 110));
  const rough = room / scale();
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  for (let time = Math.ceil(state.from / step) * step; time <= state.to; time += step) {
    const left = x(time);
    draw.fillStyle = colours.line;
    draw.fillRect(left, 0, 1, height);
    draw.fillStyle = colours.soft;
    const text = duration(time);
    if (left + draw.measureText(text).width + 4 < width) draw.fillText(text, left + 4, RULER / 2);
  }
  draw.fillStyle = colours.line;
  draw.fillRect(0, RULER - 1, width, 1);
}

function duration(nanoseconds) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (Math.abs(nanoseconds) >= size) return `${+(nanoseconds / size).toFixed(3)} ${unit}`;
  return `${Math.round(nanoseconds)} ns`;
}

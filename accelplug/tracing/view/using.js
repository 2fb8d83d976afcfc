// How the timeline is moved, asked and searched, with mouse, touch and keys. Comes after drawing.js.

// Moving

function look(from, to) {
  const all = Math.max(data.lasted, 1), margin = all * 0.02;
  let span = Math.min(Math.max(to - from, Math.min(LEAST, all)), all + 2 * margin);
  const middle = (from + to) / 2;
  state.from = Math.min(Math.max(middle - span / 2, -margin), all + margin - span);
  state.to = state.from + span;
  tip.hidden = true;
  show();
}
const fit = () => look(0, data.lasted);
const move = (share) => { const by = (state.to - state.from) * share; look(state.from + by, state.to + by); };
function zoom(factor, pixel = (width + gutter) / 2) {
  const time = timeAt(pixel);
  look(time - (time - state.from) / factor, time + (state.to - time) / factor);
}

// What is where

function at(pixelX, pixelY) {
  if (pixelX < gutter) return null;
  const place = places.find((each) => each.lane && pixelY >= each.top && pixelY < each.top + each.lane.rows.length * ROW);
  if (!place) return null;
  const row = place.lane.rows[Math.floor((pixelY - place.top) / ROW)], time = timeAt(pixelX), near = 2 / scale();
  let best = null;
  for (let i = firstAfter(row.ended, time - near); i < row.began.length && row.began[i] <= time + near; i++) {
    const index = row.index[i];
    if (hidden.has(place.lane.kind_of[index])) continue;
    const off = Math.max(row.began[i] - time, time - row.ended[i], 0);
    if (!best || off < best.off) best = { lane: place.lane, index, off };
  }
  return best;
}

function select(found) {
  state.selected = found;
  if (found) describe(found);
  show();
}

function describe({ lane, index }) {
  const name = lane.name_of[index];
  let calls = 0, time = 0;
  for (const each of lanes) each.name_of.forEach((other, i) => {
    if (other === name && each.device === lane.device) { calls += 1; time += each.lasted[i]; }
  });
  const facts = { kind: data.kinds[lane.kind_of[index]], took: duration(lane.lasted[index]),
    "began at": duration(lane.began[index]), where: `${lane.owner} / ${lane.name}`,
    ...data.facts[lane.facts_of[index]], "all of this name": `${calls}, ${duration(time)}` };
  const title = document.createElement("p"), list = document.createElement("dl");
  title.append(Object.assign(document.createElement("strong"), { textContent: data.names[name] }));
  for (const [key, value] of Object.entries(facts)) {
    const pair = document.createElement("div");
    pair.append(Object.assign(document.createElement("dt"), { textContent: key }),
      Object.assign(document.createElement("dd"), { textContent: value }));
    list.append(pair);
  }
  $("details").replaceChildren(title, list);
}

// Search

function search(text) {
  const wanted = text.trim().toLowerCase();
  state.matching = new Set(wanted ? data.names.flatMap((name, i) => (name.toLowerCase().includes(wanted) ? [i] : [])) : []);
  state.matches = lanes.flatMap((lane) =>
    lane.name_of.flatMap((name, index) =>
      state.matching.has(name) && !hidden.has(lane.kind_of[index]) ? [{ lane, index }] : []));
  state.matches.sort((one, other) => one.lane.began[one.index] - other.lane.began[other.index]);
  state.at = -1;
  $("matches").textContent = wanted ? `${state.matches.length} found` : "";
  show();
}

function go(by) {
  if (!state.matches.length) return;
  state.at = (state.at + by + state.matches.length + (state.at < 0 && by < 0 ? 1 : 0)) % state.matches.length;
  const found = state.matches[state.at], began = found.lane.began[found.index], lasted = found.lane.lasted[found.index];
  const span = Math.min(state.to - state.from, Math.max(lasted * 20, LEAST));
  if (began < state.from || began + lasted > state.to || lasted * scale() < 2)
    look(began + lasted / 2 - span / 2, began + lasted / 2 + span / 2);
  $("matches").textContent = `${state.at + 1} of ${state.matches.length}`;
  reveal(found.lane);
  select(found);
}

function reveal(lane) {
  const place = places.find((each) => each.lane === lane), view = $("view");
  if (place.top < view.scrollTop || place.top + ROW > view.scrollTop + view.clientHeight) view.scrollTop = place.top - RULER;
}

// Mouse, touch, keys

let held = null;
const position = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

canvas.addEventListener("wheel", (event) => {
  const [left] = position(event);
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    move((event.deltaX || event.deltaY) / (width - gutter));
  } else if (left > gutter) { // over the names of lanes the page scrolls
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), left);
  }
}, { passive: false });

canvas.addEventListener("pointerdown", (event) => {
  const [left, top] = position(event);
  held = { left, top, from: state.from, to: state.to, moved: false, range: event.shiftKey, scroll: $("view").scrollTop, y: event.clientY };
  canvas.setPointerCapture(event.pointerId);
});

canvas.addEventListener("pointermove", (event) => {
  const [left, top] = position(event);
  if (!held) { point(left, top); return; }
  held.moved = held.moved || Math.abs(left - held.left) > 3 || Math.abs(event.clientY - held.y) > 3;
  if (!held.moved) return;
  if (held.range) {
    paint();
    draw.globalAlpha = 0.2;
    draw.fillStyle = colours.accent;
    draw.fillRect(Math.min(left, held.left), 0, Math.abs(left - held.left), height);
    draw.globalAlpha = 1;
    return;
  }
  const by = (left - held.left) * (held.to - held.from) / (width - gutter);
  $("view").scrollTop = held.scroll - (event.clientY - held.y);
  look(held.from - by, held.to - by);
});

canvas.addEventListener("pointerup", (event) => {
  const [left, top] = position(event), was = held;
  held = null;
  if (!was) return;
  if (!was.moved) select(at(left, top));
  else if (was.range) look(timeAt(Math.min(left, was.left)), timeAt(Math.max(left, was.left)));
});
canvas.addEventListener("pointercancel", () => { held = null; });
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
canvas.addEventListener("dblclick", (event) => {
  const found = at(...position(event));
  if (found) look(found.lane.began[found.index], found.lane.began[found.index] + found.lane.lasted[found.index]);
});

function point(left, top) {
  const found = at(left, top);
  tip.hidden = !found;
  if (!found) return;
  const { lane, index } = found;
  tip.textContent = `${data.names[lane.name_of[index]]} · ${duration(lane.lasted[index])} · ${data.kinds[lane.kind_of[index]]}`;
  tip.style.left = `${Math.max(0, Math.min(left + 12, width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${top + 18}px`;
}

const KEYS = { w: () => zoom(1.5), "+": () => zoom(1.5), "=": () => zoom(1.5), s: () => zoom(1 / 1.5), "-": () => zoom(1 / 1.5),
  a: () => move(-0.2), ArrowLeft: () => move(-0.2), d: () => move(0.2), ArrowRight: () => move(0.2), 0: fit,
  n: () => go(1), N: () => go(-1), "/": () => $("search").focus(), Escape: () => select(null) };
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" && event.target.type === "search") {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") canvas.focus();
    return;
  }
  const act = KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
});

$("search").addEventListener("input", (event) => search(event.target.value));
$("next").addEventListener("click", () => go(1));
$("previous").addEventListener("click", () => go(-1));
$("in").addEventListener("click", () => zoom(1.5));
$("out").addEventListener("click", () => zoom(1 / 1.5));
$("fit").addEventListener("click", fit);
$("theme").addEventListener("click", () => {
  theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  legend();
  show();
});

function legend() {
  const counts = data.kinds.map(() => 0);
  for (const lane of lanes) for (const kind of lane.kind_of) counts[kind] += 1;
  const entries = data.kinds.map((name, kind) => {
    const entry = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !hidden.has(kind);
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(kind); else hidden.add(kind);
      search($("search").value);
    });
    const swatch = document.createElement("i"), count = document.createElement("small");
    swatch.style.background = colours.kinds[kind];
    count.textContent = counts[kind].toLocaleString("en");
    entry.append(box, swatch, name, count);
    return entry;
  });
  $("legend").replaceChildren(...entries);
}

const dark = matchMedia("(prefers-color-scheme: dark)");
theme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => { theme(dark.matches ? "dark" : "light"); legend(); show(); });
legend();
new ResizeObserver(() => { layout(); show(); }).observe($("view"));
layout();
fit();

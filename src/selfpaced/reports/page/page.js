// Draws the figures of the page with Plotly. What they show is described by `template_values.py`.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const config = {
    displaylogo: false, responsive: true, scrollZoom: false,
    modeBarButtonsToRemove: ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
  };
  const arrays = new Map(); // decoded tensors
  const drawn = new Set();  // places of figures that have come into view
  const ALL = "*", NONE = "-", GAP = 65535;

  // ---- values ----------------------------------------------------------------------------------
  function tensor(name) {
    if (arrays.has(name)) return arrays.get(name);
    const { type, shape, data, low, step } = page.tensors[name];
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer;
    let values = type === "f4" ? new Float32Array(bytes) : new Uint16Array(bytes);
    if (type === "u2") {
      const size = low.length;
      values = Float32Array.from(values, (v, k) => (v === GAP ? NaN : low[k % size] + v * step[k % size]));
    }
    arrays.set(name, { shape, values });
    return arrays.get(name);
  }

  function index(place, controls) {
    const value = typeof place === "string" && place !== ALL && place !== NONE ? controls[place] : place;
    if (value === null) return NONE;
    return value === ALL || value === NONE ? value : Number(value);
  }

  function part(name, place, controls) {
    const { shape, values } = tensor(name);
    const wanted = shape.map((size, axis) => {
      const i = axis < place.length ? index(place[axis], controls) : ALL;
      if (i === NONE) return [];
      return i === ALL ? [...Array(size).keys()] : [Math.min(i, size - 1)];
    });
    let offsets = [0];
    wanted.forEach((indices, axis) => {
      offsets = offsets.flatMap((offset) => indices.map((i) => offset * shape[axis] + i));
    });
    const flat = offsets.map((offset) => values[offset]);
    return flat.map((v) => (Number.isFinite(v) ? v : null));
  }

  function ellipse([mean, covariance, frame, seed, i, j, axis], controls) {
    const middle = tensor(mean), spread = tensor(covariance);
    const [, seeds, size] = middle.shape;
    const [f, s, a, b] = [frame, seed, i, j].map((each) => index(each, controls));
    if (s === NONE) return [];
    const points = [];
    for (const k of s === ALL ? Array(seeds).keys() : [s]) {
      const m = (f * seeds + k) * size, c = m * size;
      const aa = spread.values[c + a * size + a], bb = spread.values[c + b * size + b];
      const first = Math.sqrt(aa), slope = spread.values[c + a * size + b] / first;
      const second = Math.sqrt(Math.max(bb - slope * slope, 0));
      for (let n = 0; n <= 40; n += 1) {
        const t = (2 * Math.PI * n) / 40, x = 2 * Math.cos(t), y = 2 * Math.sin(t);
        points.push(axis === 0 ? middle.values[m + a] + first * x
          : middle.values[m + b] + slope * x + second * y);
      }
      points.push(null);
    }
    return points;
  }

  function resolve(value, controls) {
    if (Array.isArray(value)) return value.map((each) => resolve(each, controls));
    if (value === null || typeof value !== "object") return value;
    if ("$pick" in value) return resolve(value.of[controls[value.$pick]] ?? value.else ?? null, controls);
    if ("$at" in value) {
      const [name, ...place] = value.$at.map((each) => resolve(each, controls));
      return name === null ? [] : part(name, place, controls);
    }
    if ("$grid" in value) { // a matrix, as heat maps have it
      const flat = resolve(value.$grid, controls), width = value.width, rows = [];
      for (let k = 0; k < flat.length; k += width) rows.push(flat.slice(k, k + width));
      return rows;
    }
    if ("$ellipse" in value) {
      const place = resolve(value.$ellipse, controls);
      return place[0] === null ? [] : ellipse(place, controls);
    }
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v, controls)]));
  }

  // ---- figures ---------------------------------------------------------------------------------
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function axes(layout) {
    const look = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"),
      automargin: true };
    return Object.fromEntries(Object.entries(layout).map(([k, v]) =>
      [k, /^[xy]axis/.test(k) ? { ...look, ...v } : v]));
  }

  function dressed(layout) {
    return {
      margin: { l: 56, r: 16, t: 24, b: 48 }, hoverlabel: { namelength: -1 }, uirevision: "keep",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--ink") },
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 13 },
      ...axes(layout),
    };
  }

  function controlsOf(place) {
    const fields = place.closest(".group").querySelectorAll("select, input");
    return Object.fromEntries([...fields].map((f) => [f.name, f.value]));
  }

  function draw(place) {
    const figure = page.figures[place.dataset.figure];
    if (!figure) return;
    const controls = controlsOf(place);
    const traces = resolve(figure.traces, controls).filter((trace) => trace !== null);
    for (const trace of traces) {
      if (trace.ink) trace.line = { ...trace.line, color: colour("--ink") };
      delete trace.ink;
    }
    Plotly.react(place, traces, dressed(resolve(figure.layout, controls)), config);
  }

  function redraw(group) {
    group.querySelectorAll(".figure").forEach((place) => drawn.has(place) && draw(place));
    group.querySelectorAll("[data-when]").forEach((text) => {
      const [name, value] = text.dataset.when.split("=");
      text.hidden = group.querySelector(`[name="${name}"]`).value !== value;
    });
  }

  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) show(entry.target);
  }), { rootMargin: "150px" });

  function show(place) {
    seen.unobserve(place);
    if (!drawn.has(place)) { drawn.add(place); draw(place); }
  }

  // ---- choices that depend on another ------------------------------------------------------------
  function updateChoices(group) {
    group.querySelectorAll("select[data-by]").forEach((field) => {
      const by = group.querySelector(`[name="${field.dataset.by}"]`).value, value = field.value;
      if (field.dataset.shown === by) return;
      field.dataset.shown = by;
      const options = JSON.parse(field.dataset.options)[by];
      field.replaceChildren(...options.map(([name, text]) => new Option(text, name)));
      if (options.some(([name]) => name === value)) field.value = value;
      field.closest("label").hidden = options.length < 2;
    });
  }

  // ---- slider and play button ------------------------------------------------------------------
  function framesOf(group) {
    const slider = group.querySelector("input[type=range]");
    if (!slider) return null;
    const by = group.querySelector(`[name="${slider.dataset.by}"]`);
    return page.frames[group.dataset.key ?? ""]?.[by ? by.value : "0"] ?? null;
  }

  function updateSlider(group, isFirst) {
    const slider = group.querySelector("input[type=range]"), frames = framesOf(group);
    if (!slider || !frames) return;
    const wasLast = Number(slider.value) === Number(slider.max);
    slider.max = frames.labels.length - 1;
    if (isFirst) slider.value = frames.first ?? slider.max;
    else if (wasLast) slider.value = slider.max;
    const label = frames.labels[slider.value] ?? "";
    group.querySelector("output").textContent = label;
    slider.setAttribute("aria-valuetext", label);
    const moments = group.querySelector(".moments"), key = JSON.stringify(frames.moments);
    if (moments.dataset.of === key) return;
    moments.dataset.of = key;
    moments.replaceChildren(...frames.moments.map(([text, frame]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.onclick = () => { slider.value = frame; changed(group); };
      return button;
    }));
  }

  function changed(group) { updateChoices(group); updateSlider(group, false); redraw(group); }

  function play(group, button) {
    const slider = group.querySelector("input[type=range]");
    const stop = () => {
      clearInterval(group.timer);
      group.timer = null;
      button.textContent = "▶ play";
      button.setAttribute("aria-pressed", "false");
    };
    if (group.timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    button.textContent = "❚❚ pause";
    button.setAttribute("aria-pressed", "true");
    const every = Math.max(60, 8000 / (Number(slider.max) + 1));
    group.timer = setInterval(() => {
      if (Number(slider.value) >= Number(slider.max) - 1) stop();
      slider.value = Math.min(Number(slider.value) + 1, Number(slider.max));
      changed(group);
    }, every);
  }

  // ---- tables ----------------------------------------------------------------------------------
  function sort(button) {
    const head = button.closest("th"), body = head.closest("table").tBodies[0];
    const column = [...head.parentNode.children].indexOf(head);
    const order = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
    [...head.parentNode.children].forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const keyOf = (row) => row.cells[column].dataset.order ?? row.cells[column].textContent;
    const compare = (one, two) => {
      const [a, b] = [Number(keyOf(one)), Number(keyOf(two))];
      const missing = Number.isNaN(a) - Number.isNaN(b);
      if (Number.isNaN(a) && Number.isNaN(b)) return keyOf(one).localeCompare(keyOf(two)) * -1;
      return missing || b - a;
    };
    const rows = [...body.rows].sort(compare);
    body.append(...(order === "descending" ? rows : rows.reverse()));
  }

  async function copy(button) {
    const text = button.parentNode.querySelector("code").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(button.parentNode.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("th button")) sort(button);
    else if (button.matches(".copy")) copy(button);
    else if (button.matches(".play")) play(button.closest(".group"), button);
  });
  document.addEventListener("input", (event) => {
    const group = event.target.closest(".group");
    if (group) changed(group);
  });

  // ---- the page --------------------------------------------------------------------------------
  function start(root) {
    root.querySelectorAll(".group").forEach((group) => {
      updateChoices(group); updateSlider(group, true); redraw(group);
    });
    root.querySelectorAll(".figure").forEach((place) => seen.observe(place));
  }

  const redrawAll = () => drawn.forEach((place) => draw(place));
  for (const query of ["(prefers-color-scheme: dark)", "print"])  // paper is white
    matchMedia(query).addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => document.querySelectorAll(".figure").forEach(show));
  start(document);

  // ---- live: new content in place of the old, with the reader's choices kept --------------------
  function receive(update) {
    page.figures = update.figures; page.tensors = update.tensors; page.frames = update.frames;
    arrays.clear();
    document.title = document.querySelector("h1").textContent = update.title;
    document.getElementById("subtitle").textContent = update.subtitle;
    for (const [key, body] of Object.entries(update.sections)) {
      const section = document.getElementById(key);
      if (!section || section.lastBody === body) continue;
      section.lastBody = body;
      replaceBody(section, body);
    }
    document.querySelectorAll(".group").forEach(changed);
  }

  function replaceBody(section, body) {
    const fresh = document.createElement("template");
    fresh.innerHTML = body;
    const own = section.querySelector(".body"), groups = [...own.querySelectorAll(".group")];
    const renewed = [];
    fresh.content.querySelectorAll(".group").forEach((group, place) => {
      const old = groups[place];
      if (!old) return;
      if (group.dataset.choices === old.dataset.choices) group.replaceWith(old);
      else renewed.push([old, group]);
    });
    const open = [...own.querySelectorAll("details")].map((each) => each.open);
    own.replaceChildren(fresh.content);
    own.querySelectorAll("details").forEach((each, place) => { each.open = open[place] ?? each.open; });
    drawn.forEach((place) => { if (!place.isConnected) drawn.delete(place); });
    start(own);
    renewed.forEach(([old, group]) => keepChoices(old, group));
  }

  function keepChoices(old, group) {
    for (let time = 0; time < 2; time += 1) { // what a choice offers may depend on another
      old.querySelectorAll("select").forEach((field) => {
        const text = field.selectedOptions[0]?.text, own = group.querySelector(`[name="${field.name}"]`);
        const option = [...(own?.options ?? [])].find((each) => each.text === text);
        if (option) own.value = option.value;
      });
      changed(group);
    }
  }

  async function poll() {
    const status = document.getElementById("live");
    try {
      const answer = await fetch("/page.json", { headers: { "If-None-Match": page.version } });
      if (answer.status === 200) {
        page.version = answer.headers.get("ETag");
        receive(await answer.json());
      }
      status.textContent = `live · last look ${new Date().toLocaleTimeString()}`;
    } catch {
      status.textContent = "the dashboard has stopped; the page shows the last state";
    }
    setTimeout(poll, page.live * 1000);
  }
  if (page.live) setTimeout(poll, page.live * 1000);
})();

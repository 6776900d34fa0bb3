// Draws the charts of the page from the data that stand in it. Nothing is
// fetched. Without this script the tables still tell everything but the curves.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;
  const shown = runs.map(() => true);
  const view = { x: "step", smooth: 0, log: false };
  const SVG = "http://www.w3.org/2000/svg";
  const DASH = { train: "5 4", valid: "", test: "1 4", average: "1 4" };

  // --- small helpers --------------------------------------------------------

  const element = (name, attributes = {}, parent = null) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      node.setAttribute(key, value);
    }
    if (parent) parent.append(node);
    return node;
  };
  const html = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const colour = (run) => `var(--run-${run % 8})`;
  const finite = (value) => typeof value === "number" && isFinite(value);

  // "0.0312", "1.5k", "3.2e-7": about four digits.
  const short = (value) => {
    if (!finite(value)) return String(value);
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
    if (size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e");
    return String(+value.toPrecision(4));
  };
  const duration = (seconds) => {
    const total = Math.round(seconds);
    const pad = (n) => String(n).padStart(2, "0");
    const [h, m, s] = [total / 3600, (total / 60) % 60, total % 60].map(
      Math.floor);
    return h > 0 ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
  };
  const XNAME = { step: "step", epoch: "epoch", time: "time" };
  const showX = (x) => {
    if (view.x === "time") return duration(x);
    return view.x === "epoch" ? String(+x.toFixed(2)) : String(Math.round(x));
  };

  // --- positions ------------------------------------------------------------

  // Linear between known points, continued beyond them.
  const interpolate = (xs, ys, x) => {
    if (xs.length === 0) return x;
    if (xs.length === 1) return ys[0];
    let i = xs.findIndex((known) => known >= x);
    if (i < 1) i = i === 0 ? 1 : xs.length - 1;
    const share = (x - xs[i - 1]) / (xs[i] - xs[i - 1] || 1);
    return ys[i - 1] + share * (ys[i] - ys[i - 1]);
  };

  for (const run of runs) {
    const first = run.steps.time.find(finite) ?? 0;
    run.seconds = run.steps.time.map((time) => time - first);
    const ends = run.epochs.filter((epoch) => epoch.split === "train");
    run.endSteps = [0, ...ends.map((epoch) => epoch.step)];
    run.endEpochs = [0, ...ends.map((epoch) => epoch.epoch + 1)];
    if (ends.length > 0) continue;
    // How long its first epoch is, nothing tells yet.
    run.endSteps.push((run.steps.step.at(-1) ?? 0) + 1);
    run.endEpochs.push(1);
  }

  const position = (run, step) => {
    if (view.x === "epoch") {
      return interpolate(run.endSteps, run.endEpochs, step);
    }
    if (view.x === "time") {
      return Math.max(0, Math.min(interpolate(run.steps.step, run.seconds, step),
                                  run.seconds.at(-1) ?? 0));
    }
    return step;
  };

  // --- what there is to draw -------------------------------------------------

  const stepSeries = (pick, name) => runs.map((run, i) => ({
    run: i, name: name ?? "", dash: "", smooth: true,
    steps: run.steps.step, values: pick(run),
  }));

  const epochSeries = (metric) => {
    const series = [];
    runs.forEach((run, i) => {
      for (const split of ["train", "valid", "test", "average"]) {
        const lines = run.epochs.filter(
          (epoch) => epoch.split === split && metric in epoch.metrics);
        if (lines.length === 0) continue;
        series.push({
          run: i, name: split, dash: DASH[split], marked: true,
          steps: lines.map((epoch) => epoch.step),
          values: lines.map((epoch) => epoch.metrics[metric]),
        });
      }
    });
    return series;
  };

  // The plan beneath what was; when its steps will be reached, nobody knows.
  const rateSeries = () => runs.flatMap((run, i) => [
    ...run.planned.map(({ group, steps, values }) => ({
      run: i, name: run.planned.length > 1 ? `${group}, planned` : "planned",
      dash: "1 4", planned: true, steps, values,
    })),
    ...Object.entries(run.steps.lr).map(([group, values], number) => ({
      run: i, name: group, dash: number === 0 ? "" : `${2 + 3 * number} 3`,
      steps: run.steps.step, values,
    })),
  ]);

  const metricNames = () => {
    const names = new Set();
    for (const run of runs) {
      for (const epoch of run.epochs) {
        Object.keys(epoch.metrics).forEach((name) => names.add(name));
      }
    }
    return [...names];
  };

  const charts = [
    { title: "Loss, step by step", wide: true, log: true,
      series: stepSeries((run) => run.steps.loss) },
    ...metricNames().map((name) => ({
      title: name, series: epochSeries(name), splits: true })),
    { title: "Learning rate", series: rateSeries(), groups: true },
    { title: "Samples per second", zero: true,
      series: stepSeries((run) => run.steps.samples_per_second) },
    { title: "Waiting for data", zero: true, percent: true,
      series: stepSeries((run) => run.steps.data_wait.map(
        (share) => (finite(share) ? 100 * share : share))) },
  ].filter((chart) => chart.series.some((s) => s.values.length > 0));

  // An exponential mean, corrected for its start, as TensorBoard's.
  const smoothed = (values, weight) => {
    let mean = 0, scale = 0;
    return values.map((value) => {
      if (!finite(value)) return value;
      mean = mean * weight + value * (1 - weight);
      scale = scale * weight + 1 - weight;
      return mean / scale;
    });
  };

  // --- drawing ---------------------------------------------------------------

  const niceTicks = (low, high, count) => {
    const rough = (high - low) / Math.max(count, 1) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const unit = [1, 2, 5, 10].find((u) => u * power >= rough) * power;
    const ticks = [];
    for (let t = Math.ceil(low / unit) * unit; t <= high + unit * 1e-6;
         t += unit) {
      ticks.push(Math.abs(t) < unit * 1e-6 ? 0 : t);
    }
    return ticks;
  };
  const timeTicks = (low, high, count) => {
    const units = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
                   14400, 21600, 43200, 86400];
    const unit = units.find((u) => (high - low) / u <= count) ??
      86400 * Math.ceil((high - low) / 86400 / count);
    const ticks = [];
    for (let t = Math.ceil(low / unit) * unit; t <= high; t += unit) {
      ticks.push(t);
    }
    return ticks;
  };
  const logTicks = (low, high) => {
    const ticks = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); ++p) {
      for (const digit of Math.log10(high / low) > 2 ? [1] : [1, 2, 5]) {
        const tick = digit * 10 ** p;
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    return ticks;
  };

  class Chart {
    constructor(spec, parent) {
      this.spec = spec;
      this.figure = html("figure", spec.wide ? "chart wide" : "chart");
      const caption = html("figcaption");
      caption.append(html("h3", "", spec.title), this.key());
      this.svg = element("svg", { class: "plot", tabindex: 0, role: "img" });
      this.tip = html("div", "tip");
      this.tip.hidden = true;
      this.tip.setAttribute("role", "status");
      this.figure.append(caption, this.svg, this.tip);
      parent.append(this.figure);
      this.listen();
    }

    // What the kinds of lines mean; runs are told apart by colour and number.
    key() {
      const key = html("span", "key");
      const kinds = new Map();
      if (this.spec.splits || this.spec.groups) {
        for (const s of this.spec.series) kinds.set(s.name, s.dash);
      }
      if (kinds.size < 2) return key;
      for (const [name, dash] of kinds) {
        const item = html("span");
        const line = element("svg", { viewBox: "0 0 22 8" }, item);
        element("path", { d: "M0 4H22", stroke: "currentColor",
                          "stroke-width": 1.7, "stroke-dasharray": dash }, line);
        item.append(name);
        key.append(item);
      }
      return key;
    }

    // The points of the lines that are shown.
    lines() {
      const visible = (s) => shown[s.run] && !(s.planned && view.x === "time");
      return this.spec.series.filter(visible).map((s) => {
        const weight = s.smooth ? view.smooth : 0;
        const xs = s.steps.map((step) => position(runs[s.run], step));
        const ys = weight > 0 ? smoothed(s.values, weight) : s.values;
        return { ...s, xs, ys, raw: weight > 0 ? s.values : null };
      });
    }

    scales(lines, width, height) {
      const log = this.spec.log && view.log;
      const usable = (y) => finite(y) && (!log || y > 0);
      const xs = lines.flatMap((line) => line.xs);
      const ys = lines.flatMap((line) => line.ys).filter(usable);
      let [xlow, xhigh] = [Math.min(...xs, Infinity), Math.max(...xs, -Infinity)];
      if (!isFinite(xlow)) [xlow, xhigh] = [0, 1];
      if (xlow === xhigh) xhigh = xlow + 1;
      let [low, high] = [Math.min(...ys, Infinity), Math.max(...ys, -Infinity)];
      if (!isFinite(low)) [low, high] = [log ? 0.1 : 0, 1];
      if (this.spec.zero) low = 0;
      if (this.spec.percent) high = Math.max(high, 5);
      if (low === high) {
        const pad = Math.abs(low) * 0.1 || 1;
        [low, high] = log ? [low / 2, high * 2] : [low - pad, high + pad];
      } else if (!log) {
        const pad = (high - low) * 0.06;
        high += pad;
        if (!this.spec.zero) low = low >= 0 && low - pad < 0 ? 0 : low - pad;
      }
      const f = log ? Math.log10 : (v) => v;
      const box = { left: 48, right: width - 22, top: 14, bottom: height - 24 };
      return {
        box, usable, xlow, xhigh, low, high, log,
        x: (v) => box.left +
          (v - xlow) / (xhigh - xlow) * (box.right - box.left),
        y: (v) => box.bottom -
          (f(v) - f(low)) / (f(high) - f(low)) * (box.bottom - box.top),
      };
    }

    draw() {
      const width = Math.max(this.figure.clientWidth - 28, 220);
      const height = this.spec.wide ? 280 : 210;
      const lines = this.lines();
      const s = this.scales(lines, width, height);
      Object.assign(this, { drawn: lines, scale: s, width });
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.setAttribute("height", height);
      this.svg.setAttribute("aria-label", this.describe(lines));
      this.svg.replaceChildren();
      this.drawAxes(s, width);
      this.drawEvents(s);
      for (const line of lines) this.drawLine(line, s);
      this.drawLabels(lines, s);
      this.cross = element("g", {}, this.svg);
    }

    drawAxes(s, width) {
      const yticks = s.log ? logTicks(s.low, s.high)
                           : niceTicks(s.low, s.high, 4);
      for (const tick of yticks) {
        const y = s.y(tick);
        element("line", { class: "grid", x1: s.box.left, x2: s.box.right,
                          y1: y, y2: y }, this.svg);
        element("text", { x: s.box.left - 7, y: y + 4, "text-anchor": "end" },
                this.svg).textContent =
          short(tick) + (this.spec.percent ? " %" : "");
      }
      const count = Math.max(2, Math.floor(width / 95));
      const whole = view.x !== "time";
      const xticks = (whole ? niceTicks : timeTicks)(s.xlow, s.xhigh, count);
      for (const tick of xticks) {
        if (whole && !Number.isInteger(+tick.toFixed(6))) continue;
        element("text", { x: s.x(tick), y: s.box.bottom + 17,
                          "text-anchor": "middle" },
                this.svg).textContent = whole ? short(tick) : duration(tick);
      }
      element("line", { class: "axis", x1: s.box.left, x2: s.box.right,
                        y1: s.box.bottom, y2: s.box.bottom }, this.svg);
    }

    drawEvents(s) {
      this.events = [];
      runs.forEach((run, i) => {
        if (!shown[i]) return;
        for (const event of run.events) {
          const at = position(run, event.step);
          if (at < s.xlow || at > s.xhigh) continue;
          const x = s.x(at);
          this.events.push({ ...event, at, run: i });
          element("line", { class: "event", x1: x, x2: x, y1: s.box.top,
                            y2: s.box.bottom }, this.svg);
          element("path", { class: "flag",
                            d: `M${x - 4} ${s.box.top - 7}h8l-4 7z` },
                  this.svg);
        }
      });
    }

    // Gaps where a value is not finite, with a cross at the top.
    drawLine(line, s) {
      const path = (ys) => {
        let d = "", pen = "M";
        ys.forEach((y, i) => {
          if (!s.usable(y)) return void (pen = "M");
          d += `${pen}${s.x(line.xs[i]).toFixed(1)} ${s.y(y).toFixed(1)}`;
          pen = "L";
        });
        return d;
      };
      const stroke = colour(line.run);
      if (line.raw) {
        element("path", { class: "series raw", stroke, d: path(line.raw.map(
          (y) => (s.usable(y) ? Math.min(Math.max(y, s.low), s.high) : y))) },
                this.svg);
      }
      element("path", { class: "series", stroke, d: path(line.ys),
                        "stroke-dasharray": line.dash }, this.svg);
      line.ys.forEach((y, i) => {
        const x = s.x(line.xs[i]);
        if (!s.usable(y)) {
          element("path", { class: "lost", stroke,
                            d: `M${x - 4} ${s.box.top}l8 8m0 -8l-8 8` },
                  this.svg);
        } else if (line.marked && line.ys.length < 40) {
          element("circle", { class: "dot", fill: stroke, r: 3.2, cx: x,
                              cy: s.y(y) }, this.svg);
        }
      });
    }

    // The run's number at the end of its line, moved apart where they meet.
    drawLabels(lines, s) {
      if (runs.length < 2) return;
      const ends = new Map();
      for (const line of lines) {
        const i = line.ys.findLastIndex(s.usable);
        if (i >= 0) ends.set(line.run, { x: s.x(line.xs[i]), y: s.y(line.ys[i]) });
      }
      const labels = [...ends].sort((a, b) => a[1].y - b[1].y);
      let last = -Infinity;
      for (const [run, at] of labels) {
        const y = Math.max(at.y, last + 11);
        last = y;
        const text = element("text", { class: "label", x: at.x + 6, y: y + 4 },
                             this.svg);
        text.style.fill = colour(run);
        text.textContent = run + 1;
      }
    }

    describe(lines) {
      const parts = lines.map((line) => {
        const last = line.ys.findLast(finite);
        return `run ${line.run + 1} ${line.name}: ${short(last)}`;
      });
      return `${this.spec.title}. At the end, ${parts.join("; ") ||
        "nothing"}. Left and right arrow keys read values.`;
    }

    // --- reading values -------------------------------------------------------

    listen() {
      this.svg.addEventListener("pointermove", (event) => {
        const box = this.svg.getBoundingClientRect();
        const px = (event.clientX - box.left) * this.width / box.width;
        const { scale: s } = this;
        this.read(s.xlow + (px - s.box.left) / (s.box.right - s.box.left) *
          (s.xhigh - s.xlow));
      });
      this.svg.addEventListener("pointerleave", () => this.hide());
      this.svg.addEventListener("blur", () => this.hide());
      this.svg.addEventListener("keydown", (event) => this.onKey(event));
    }

    onKey(event) {
      const xs = [...new Set(this.drawn.flatMap((line) => line.xs))].sort(
        (a, b) => a - b);
      if (xs.length === 0) return;
      const at = this.at ?? xs.at(-1);
      const moves = {
        ArrowLeft: () => xs.findLast((x) => x < at) ?? xs[0],
        ArrowRight: () => xs.find((x) => x > at) ?? xs.at(-1),
        Home: () => xs[0],
        End: () => xs.at(-1),
      };
      if (event.key === "Escape") return this.hide();
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.read(moves[event.key]());
    }

    // Shows what each line has nearest to `x`.
    read(x) {
      const s = this.scale;
      const nearest = this.drawn.filter((line) => line.xs.length).map((line) => {
        let best = 0;
        line.xs.forEach((known, i) => {
          if (Math.abs(known - x) < Math.abs(line.xs[best] - x)) best = i;
        });
        return { line, i: best };
      });
      if (nearest.length === 0) return;
      const distance = ({ line, i }) => Math.abs(line.xs[i] - x);
      const closest = nearest.reduce((a, b) => distance(b) < distance(a) ? b : a);
      this.at = closest.line.xs[closest.i];
      this.cross.replaceChildren();
      const px = s.x(this.at);
      element("line", { class: "cross", x1: px, x2: px, y1: s.box.top,
                        y2: s.box.bottom }, this.cross);
      this.tip.replaceChildren();
      this.tip.append(html("b", "", `${XNAME[view.x]} ${showX(this.at)}`));
      for (const { line, i } of nearest) this.readLine(line, i);
      this.readEvents((s.xhigh - s.xlow) / 60);
      this.place(px);
    }

    readLine(line, i) {
      const s = this.scale;
      const y = line.ys[i];
      if (s.usable(y)) {
        element("circle", { class: "dot", fill: colour(line.run), r: 4,
                            cx: s.x(line.xs[i]), cy: s.y(y) }, this.cross);
      }
      const row = html("div", "row");
      const number = html("span", "number", line.run + 1);
      number.style.setProperty("--run", colour(line.run));
      const text = line.name || (runs.length > 1 ? runs[line.run].name : "");
      row.append(number, html("span", "", text),
                 html("b", "", short(y) + (this.spec.percent ? " %" : "")));
      this.tip.append(row);
    }

    readEvents(reach) {
      for (const event of this.events) {
        if (Math.abs(event.at - this.at) > reach) continue;
        this.tip.append(html("div", "what",
                             `▾ ${event.name} at step ${event.step}`));
      }
    }

    // Beside the cross, within the figure.
    place(px) {
      this.tip.hidden = false;
      const box = this.svg.getBoundingClientRect();
      const around = this.figure.getBoundingClientRect();
      const x = box.left - around.left + px * box.width / this.width;
      const left = x + 14 + this.tip.offsetWidth > around.width
        ? x - 14 - this.tip.offsetWidth : x + 14;
      this.tip.style.left = `${Math.max(4, left)}px`;
      this.tip.style.top = `${box.top - around.top + 10}px`;
    }

    hide() {
      this.tip.hidden = true;
      this.at = undefined;
      this.cross?.replaceChildren();
    }
  }

  // --- the page ---------------------------------------------------------------

  const parent = document.getElementById("charts");
  const drawn = charts.map((spec) => new Chart(spec, parent));
  const draw = () => drawn.forEach((chart) => { chart.hide(); chart.draw(); });

  document.querySelectorAll(".run").forEach((button) => {
    button.addEventListener("click", () => {
      const run = +button.dataset.run;
      shown[run] = !shown[run];
      button.setAttribute("aria-pressed", shown[run]);
      draw();
    });
  });
  document.querySelectorAll("input[name=x]").forEach((input) => {
    input.addEventListener("change", () => { view.x = input.value; draw(); });
  });
  document.getElementById("smooth").addEventListener("input", (event) => {
    view.smooth = +event.target.value;
    draw();
  });
  document.getElementById("log").addEventListener("change", (event) => {
    view.log = event.target.checked;
    draw();
  });
  let width = parent.clientWidth;
  new ResizeObserver(() => {
    if (parent.clientWidth === width) return;
    width = parent.clientWidth;
    draw();
  }).observe(parent);
  draw();
  document.documentElement.dataset.drawn = drawn.length;
})();

"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const slider = document.getElementById("slider");
const label = document.getElementById("shown");
const canvases = ["frame", "background", "foreground", "overlay"].map((id) => document.getElementById(id).getContext("2d"));
const [width, height] = [data.width, data.height];
const decoded = new Map();

function loadImage(address) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = () => failed(new Error("cannot decode an image of the report"));
    image.src = address;
  });
}

function pixels(image) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

// Foreground and overlay are computed from frame and mask, which halves the size of the page.
async function parts(sample) {
  if (!decoded.has(sample)) {
    const { frame, background, mask } = data.samples[sample];
    const images = await Promise.all([frame, background, mask].map(loadImage));
    const [seen, backgroundPixels, maskPixels] = images.map(pixels);
    const foreground = new ImageData(width, height);
    const overlay = new ImageData(width, height);
    for (let at = 0; at < seen.data.length; at += 4) {
      const inside = maskPixels.data[at] > 127;
      for (let part = 0; part < 3; part++) {
        const level = seen.data[at + part];
        foreground.data[at + part] = inside ? level : 0;
        overlay.data[at + part] = inside ? (level + data.tint[part]) >> 1 : level;
      }
      foreground.data[at + 3] = overlay.data[at + 3] = 255;
    }
    decoded.set(sample, [seen, backgroundPixels, foreground, overlay]);
  }
  return decoded.get(sample);
}

async function show(sample) {
  slider.value = sample;
  const { number, index } = data.samples[sample];
  label.textContent = `frame ${number} (${Number(sample) + 1} of ${data.samples.length} shown)`;
  slider.setAttribute("aria-valuetext", label.textContent);
  const mark = document.getElementById("mark");
  if (mark) {
    const x = place(index);
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
  }
  const images = await parts(sample);
  if (Number(slider.value) === Number(sample)) {
    images.forEach((image, at) => canvases[at].putImageData(image, 0, 0));
    document.body.dataset.shown = number;
  }
}

const [chartWidth, chartHeight, left, bottom] = [1000, 190, 44, 34];
const place = (index) => left + ((chartWidth - left) * (index + 0.5)) / data.frames;

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function path(values, top, floor, largest) {
  const step = data.frames / values.length;
  const point = (value, at) => `${place((at + 0.5) * step - 0.5).toFixed(1)},${(floor - ((floor - top) * value) / largest).toFixed(1)}`;
  return values.map(point);
}

function timeline() {
  const svg = element("svg", { viewBox: `0 0 ${chartWidth} ${chartHeight}`, role: "img", tabindex: 0 });
  svg.setAttribute("aria-label", "angle and foreground fraction of every frame; a click or the arrow keys move the player");
  const floor = chartHeight - bottom;
  const angle = Math.max(...data.angles, 1e-6);
  const fraction = Math.max(...data.foreground, 1e-6);
  const area = path(data.foreground, 12, floor, fraction);
  svg.append(element("polygon", { points: [`${left},${floor}`, ...area, `${chartWidth},${floor}`].join(" "), fill: "var(--area)", opacity: 0.45 }));
  svg.append(element("polyline", { points: path(data.angles, 12, floor, angle).join(" "), fill: "none", stroke: "var(--line)", "stroke-width": 1.5 }));
  svg.append(element("line", { x1: left, x2: chartWidth, y1: floor, y2: floor, stroke: "currentColor", opacity: 0.4 }));
  svg.append(element("text", { x: left + 4, y: 10 }, `angle up to ${angle.toFixed(1)}° (line), foreground up to ${(100 * fraction).toFixed(1)} % (area)`));
  const colors = { support: "var(--line)", trimmed: "var(--area)" };
  const step = (chartWidth - left) / data.support.length;
  data.support.forEach((state, at) => {
    if (state in colors) svg.append(element("rect", { x: left + at * step, y: floor + 3, width: Math.max(step, 0.5), height: 5, fill: colors[state] }));
  });
  svg.append(element("text", { x: left, y: chartHeight - 6 }, `frame ${data.first}`));
  svg.append(element("text", { x: chartWidth, y: chartHeight - 6, "text-anchor": "end" }, `frame ${data.last}`));
  svg.append(element("line", { id: "mark", x1: left, x2: left, y1: 0, y2: floor + 8, stroke: "currentColor", "stroke-width": 2 }));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chartWidth;
    const index = ((x - left) / (chartWidth - left)) * data.frames - 0.5;
    const distance = (sample) => Math.abs(sample.index - index);
    const nearest = data.samples.reduce((best, sample, at) => (distance(sample) < distance(data.samples[best]) ? at : best), 0);
    show(nearest);
  });
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      event.preventDefault();
      show(Math.min(Math.max(Number(slider.value) + by, 0), data.samples.length - 1));
    }
  });
  document.getElementById("timeline").append(svg);
}

function histogram() {
  const bins = 30;
  const counts = new Array(bins).fill(0);
  data.angles.forEach((angle) => counts[Math.min(bins - 1, Math.floor((angle / 90) * bins))]++);
  const largest = Math.max(...counts, 1);
  const svg = element("svg", { viewBox: `0 0 ${chartWidth} 150`, role: "img", "aria-label": "histogram of the angles of frames, 0 to 90 degrees" });
  const size = (chartWidth - left) / bins;
  counts.forEach((count, at) => {
    const tall = (110 * count) / largest;
    const bar = element("rect", { x: left + at * size + 1, y: 120 - tall, width: size - 2, height: tall, fill: "var(--line)" });
    bar.append(element("title", {}, `${at * 3} to ${at * 3 + 3} degrees: ${count}`));
    svg.append(bar);
  });
  for (let degrees = 0; degrees <= 90; degrees += 15) {
    svg.append(element("text", { x: left + ((chartWidth - left) * degrees) / 90, y: 138, "text-anchor": degrees === 90 ? "end" : "middle" }, `${degrees}°`));
  }
  if (data.max_angle !== null) {
    const x = left + ((chartWidth - left) * data.max_angle) / 90;
    svg.append(element("line", { x1: x, x2: x, y1: 0, y2: 120, stroke: "var(--area)", "stroke-width": 2, "stroke-dasharray": "6 4" }));
    svg.append(element("text", { x: x - 4, y: 10, "text-anchor": "end" }, `max angle ${data.max_angle}°`));
  }
  document.getElementById("histogram").append(svg);
}

timeline();
histogram();
slider.addEventListener("input", () => show(Number(slider.value)));
show(Number(slider.value));

// Draws what the server describes: every element with data-chart holds the options of one chart as JSON.
"use strict";

const drawn = new Map();

function hasWebGl() {
  const canvas = document.createElement("canvas");
  return Boolean(window.echarts && canvas.getContext("webgl"));
}

// {"$unit": "W"} stands for a function that writes a number with three digits and its unit.
function withFunctions(_, value) {
  if (value === null || typeof value !== "object" || !("$unit" in value)) return value;
  return (number) => {
    const written = (one) => (typeof one === "number" ? Number(one.toPrecision(3)).toLocaleString("en") : one);
    return [].concat(number).map(written).join(", ") + (value.$unit ? ` ${value.$unit}` : "");
  };
}

function draw(element) {
  const flat = element.dataset.flat && !hasWebGl();
  const options = JSON.parse(flat ? element.dataset.flat : element.dataset.chart, withFunctions);
  const renderer = flat ? "svg" : element.dataset.renderer || "svg";
  const chart = echarts.getInstanceByDom(element) || echarts.init(element, null, { renderer });
  chart.setOption(options, true);
  drawn.set(element, chart);
}

function drawAll() {
  for (const [element, chart] of drawn) {
    if (!element.isConnected) {
      chart.dispose();
      drawn.delete(element);
    }
  }
  document.querySelectorAll("[data-chart]").forEach((element) => {
    if (element.dataset.chart === element.dataset.drawn) return;
    element.dataset.drawn = element.dataset.chart;
    draw(element);
  });
}

document.addEventListener("DOMContentLoaded", drawAll);
document.addEventListener("htmx:after:swap", drawAll);
window.addEventListener("resize", () => drawn.forEach((chart) => chart.resize()));

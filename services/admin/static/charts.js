// Draws what the server describes: every element with data-chart holds the options of one chart as JSON.
"use strict";

const drawn = new Map();

function draw(element) {
  const known = echarts.getInstanceByDom(element);
  const chart = known || echarts.init(element, null, { renderer: element.dataset.renderer || "svg" });
  chart.setOption(JSON.parse(element.dataset.chart), true);
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
    if (element.dataset.chart !== element.dataset.drawn) {
      element.dataset.drawn = element.dataset.chart;
      draw(element);
    }
  });
}

document.addEventListener("DOMContentLoaded", drawAll);
document.addEventListener("htmx:after:swap", drawAll);
window.addEventListener("resize", () => drawn.forEach((chart) => chart.resize()));

// Asks before what cannot be undone, copies secrets, fits tables to the screen; all else is HTML.
"use strict";

// A form that was sent is not sent again before its answer is there, nor while that answer leads to another page: sending
// it a second time would take the message of what was done away from the page that shows it.
const sentForms = new Set();

document.addEventListener(
  "submit",
  (event) => {
    const question = event.submitter && event.submitter.dataset.confirm;
    if (sentForms.has(event.target) || (question && !window.confirm(question))) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  },
  true,
);

let lastSent = null;

document.addEventListener("htmx:before:request", (event) => {
  lastSent = event.detail.ctx.sourceElement;
  sentForms.add(lastSent);
});
document.addEventListener("htmx:finally:request", (event) => {
  const { hx, sourceElement } = event.detail.ctx;
  if (!hx?.redirect) sentForms.delete(sourceElement);
});
window.addEventListener("pageshow", () => sentForms.clear());

// What was typed into one form of a page that says so is not lost by sending another, or by leaving, unless that is wanted.
let leaving = false;

function unsaved(but) {
  const isTyped = (field) => field.matches("input:not([type=hidden]), textarea") && field.value !== field.defaultValue;
  const forms = [...document.querySelectorAll("[data-unsaved] form")];
  return forms.some((form) => form !== but && [...form.elements].some(isTyped));
}

document.addEventListener(
  "submit",
  (event) => {
    const page = event.target.closest("[data-unsaved]");
    if (!page) return;
    if (unsaved(event.target) && !window.confirm(page.dataset.unsaved)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else leaving = true;
  },
  true,
);

["input", "htmx:after:swap"].forEach((name) => document.addEventListener(name, () => { leaving = false; }));

window.addEventListener("beforeunload", (event) => {
  if (!leaving && unsaved()) event.preventDefault();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies-address]");
  if (!button) return;
  await navigator.clipboard.writeText(document.querySelector("[data-address]").href);
  button.textContent = "Copied";
});

// One tier begins where the one before ends: its lower bound is shown as that is typed.
document.addEventListener("input", (event) => {
  const shown = event.target.id && document.querySelector(`[data-shows="${event.target.id}"]`);
  if (shown) shown.textContent = event.target.value;
});

// The editor of queries: Ctrl + Enter runs, Cancel stops waiting (which stops the query), an error is shown at its place.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches("[data-submits]")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

function waiting(form, isWaiting) {
  form.querySelector("[data-stops]").hidden = !isWaiting;
  form.querySelector("button.primary").disabled = isWaiting;
}

document.addEventListener("submit", (event) => {
  const elsewhere = event.submitter && "elsewhere" in event.submitter.dataset;
  if (event.target.matches("[data-runs]") && !elsewhere) waiting(event.target, true);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-stops]");
  if (!button) return;
  window.stop();
  waiting(button.form, false);
});

window.addEventListener("pageshow", () => {
  const form = document.querySelector("[data-runs]");
  if (!form) return;
  waiting(form, false);
  const wrong = form.querySelector("[data-position]");
  if (!wrong) return;
  const at = Number(wrong.dataset.position) - 1;
  wrong.focus();
  wrong.setSelectionRange(at, at + 1);
});

// A row of a table becomes a card on a small screen, its cells named by their columns; what still scrolls is reached by keys.
function fitTables() {
  document.querySelectorAll(".scroll > table:not(.wide)").forEach((table) => {
    const columns = [...table.querySelectorAll("thead tr:last-child > *")].map((each) => each.textContent.trim());
    table.classList.toggle("stacks", columns.length > 2);
    table.querySelectorAll("tbody > tr").forEach((row) => {
      [...row.cells].forEach((cell, place) => {
        if (cell.tagName === "TD" && cell.colSpan === 1 && columns[place]) cell.dataset.column = columns[place];
      });
    });
  });
  document.querySelectorAll(".scroll:not([role])").forEach((region) => {
    if (region.scrollWidth <= region.clientWidth) return;
    const heading = region.querySelector("caption") || region.closest("section")?.querySelector("h2") || document.querySelector("h1");
    region.tabIndex = 0;
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", heading ? heading.textContent.trim() : "Table");
  });
}

document.addEventListener("DOMContentLoaded", fitTables);
document.addEventListener("htmx:after:swap", fitTables);
window.addEventListener("resize", fitTables);

// A dialog opens on its page. What the service refuses of its form is shown in it: the page behind it cannot be read.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-opens], [data-closes]");
  if (!button) return;
  const { opens, closes } = button.dataset;
  if (opens) document.getElementById(opens).showModal();
  else document.getElementById(closes).close();
});

// What is wrong with a field stands next to it, in the form that was sent; after its label, whose text it must not join.
function clearWrong(form) {
  form.querySelectorAll("[data-wrong]").forEach((each) => each.remove());
  form.querySelectorAll("[aria-invalid]").forEach((each) => {
    each.removeAttribute("aria-invalid");
    each.removeAttribute("aria-describedby");
  });
}

document.addEventListener("htmx:before:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (form instanceof HTMLFormElement) clearWrong(form);
});

document.addEventListener("htmx:after:swap", () => {
  const refusal = document.querySelector("#refused [data-field]");
  if (!refusal || !(lastSent instanceof HTMLFormElement)) return;
  const named = lastSent.elements[refusal.dataset.field];
  const field = named instanceof RadioNodeList ? named[0] : named;
  if (!field || field.type === "hidden") return;
  refusal.className = "wrong";
  refusal.dataset.wrong = "";
  refusal.id = "wrong-field";
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", refusal.id);
  field.closest("details")?.setAttribute("open", "");
  (field.closest(".choices, label") || field).after(refusal);
  field.focus();
});

document.addEventListener("htmx:after:swap", () => {
  const place = document.querySelector("dialog[open] [data-refusals]");
  const refused = document.getElementById("refused");
  if (place && refused && refused.childNodes.length) place.replaceChildren(...refused.childNodes);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-prints]")) window.print();
});

// A file of prices is read into the field that is sent, where it can be looked at before.
document.addEventListener("change", async (event) => {
  const file = event.target.matches("[data-reads]") && event.target.files[0];
  if (file) document.getElementById(event.target.dataset.reads).value = await file.text();
});

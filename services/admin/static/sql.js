// The page of SQL: names of views and columns are completed and inserted, rows are sorted, and a query has an address.
"use strict";

const MOST_SUGGESTIONS = 8;
const editor = () => document.getElementById("sql");
const offers = () => document.getElementById("sql-names");
let offered = { start: 0, names: [], at: -1 };

function listViews() {
  return [...document.querySelectorAll("[data-view]")].map((view) => ({
    name: view.dataset.view,
    columns: [...view.querySelectorAll("[data-column-name]")].map((each) => each.dataset.columnName),
  }));
}

// Names that begin with what stands before the caret: columns of the views in the query first, then views, then others.
function suggest(text, caret) {
  const typed = /[A-Za-z_][\w]*$/.exec(text.slice(0, caret));
  if (!typed) return { start: caret, names: [] };
  const word = typed[0].toLowerCase();
  const views = listViews();
  const used = views.filter((view) => new RegExp(`\\b${view.name}\\b`, "i").test(text));
  const ranked = [...used.flatMap((view) => view.columns), ...views.map((view) => view.name), ...views.flatMap((view) => view.columns)];
  const fitting = ranked.filter((name) => name.toLowerCase().startsWith(word) && name.toLowerCase() !== word);
  return { start: typed.index, names: [...new Set(fitting)].slice(0, MOST_SUGGESTIONS) };
}

function showOffers() {
  const list = offers();
  list.hidden = !offered.names.length;
  list.replaceChildren(
    ...offered.names.map((name, place) => {
      const item = document.createElement("li");
      item.id = `sql-name-${place}`;
      item.textContent = name;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(place === offered.at));
      return item;
    }),
  );
  if (offered.at >= 0 && offered.names.length) editor().setAttribute("aria-activedescendant", `sql-name-${offered.at}`);
  else editor().removeAttribute("aria-activedescendant");
}

function closeOffers() {
  offered = { start: 0, names: [], at: -1 };
  showOffers();
}

// By the browser's own command, so that Undo takes it back.
function insert(name, start) {
  const field = editor();
  field.focus();
  field.setSelectionRange(start ?? field.selectionStart, field.selectionEnd);
  if (!document.execCommand("insertText", false, name)) field.setRangeText(name, field.selectionStart, field.selectionEnd, "end");
  closeOffers();
}

document.addEventListener("input", (event) => {
  if (event.target !== editor()) return;
  offered = { ...suggest(event.target.value, event.target.selectionStart), at: -1 };
  if (event.inputType && !event.inputType.startsWith("insertText") && !event.inputType.startsWith("delete")) offered.names = [];
  showOffers();
});

document.addEventListener(
  "keydown",
  (event) => {
    if (event.target !== editor() || !offered.names.length) return;
    if (event.ctrlKey || event.metaKey) return closeOffers();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      offered.at = (offered.at + step + offered.names.length + (offered.at < 0 && step < 0 ? 1 : 0)) % offered.names.length;
      showOffers();
    } else if (event.key === "Enter" && offered.at >= 0) insert(offered.names[offered.at], offered.start);
    else if (event.key === "Escape") closeOffers();
    else return;
    event.preventDefault();
  },
  true,
);

document.addEventListener("focusout", (event) => {
  if (event.target === editor()) setTimeout(closeOffers, 150); // after a click on a suggestion
});

document.addEventListener("mousedown", (event) => {
  const item = event.target.closest("#sql-names li");
  if (!item) return;
  event.preventDefault();
  insert(item.textContent, offered.start);
});

document.addEventListener("click", (event) => {
  const name = event.target.closest("[data-inserts]");
  if (name) insert(name.dataset.inserts);
});

// Rows are sorted where they are: numbers by their value, all else as text; what is empty comes last.
function sortRows(head, isDescending) {
  const body = head.closest("table").tBodies[0];
  const isNumber = head.classList.contains("number");
  const valueOf = (row) => row.cells[head.cellIndex].textContent;
  const compare = (one, other) => (isNumber ? Number(one) - Number(other) : one.localeCompare(other, "en"));
  const rows = [...body.rows];
  const known = rows.filter((row) => valueOf(row) !== "–").sort((a, b) => compare(valueOf(a), valueOf(b)) * (isDescending ? -1 : 1));
  body.append(...known, ...rows.filter((row) => valueOf(row) === "–"));
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("#answer thead th").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sorts";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const isDescending = head.getAttribute("aria-sort") === "ascending";
      head.parentElement.querySelectorAll("th").forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      sortRows(head, isDescending);
    });
  });
  // The address of the query stands in the browser's bar, where it can be copied and loaded again.
  const address = document.querySelector("[data-address]");
  if (address) history.replaceState(null, "", address.getAttribute("href"));
});

// A form that was sent after its session had ended is there again after the next sign-in, with what was typed into it.
// It waits in this tab alone, for the same login, and without passwords; the service says by a cookie that it was not done.
"use strict";

const UNSENT = "tradewind_unsent";
const here = () => location.pathname + location.search;
const sameForms = (action) => [...document.forms].filter((form) => form.getAttribute("action") === action);
const typedFields = (form) => [...form.elements].filter((field) => field.name && !["hidden", "password", "file", "submit"].includes(field.type));

document.addEventListener("submit", (event) => {
  const { login } = document.body.dataset;
  if (event.defaultPrevented && !event.target.hasAttribute("hx-boost")) return;
  if (!login || event.target.method !== "post") return;
  const action = event.target.getAttribute("action");
  const fields = typedFields(event.target).map((field) => [field.name, field.value, Boolean(field.checked)]);
  const form = { page: here(), login, action, place: sameForms(action).indexOf(event.target), fields };
  try {
    sessionStorage.setItem(UNSENT, JSON.stringify(form));
  } catch {
    sessionStorage.removeItem(UNSENT); // it is larger than what the browser stores
  }
});

function restore(sent) {
  const form = sameForms(sent.action)[sent.place];
  if (!form) return;
  const fields = typedFields(form);
  sent.fields.forEach(([name, value, isChecked], place) => {
    const field = fields[place];
    if (!field || field.name !== name) return;
    if (["checkbox", "radio"].includes(field.type)) {
      if (field.value === value) field.checked = isChecked;
    } else field.value = value;
  });
  form.closest("dialog")?.showModal();
  for (let each = form.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  const note = document.createElement("p");
  note.className = "message";
  note.setAttribute("role", "status");
  note.textContent = "Your session had ended, and nothing was done. What you typed is here again: send it once more.";
  document.getElementById("main").prepend(note);
  fields[0]?.focus();
}

document.addEventListener("DOMContentLoaded", () => {
  const { login } = document.body.dataset;
  if (!login) return; // the page to sign in
  const wasRefused = document.cookie.split("; ").includes(`${UNSENT}=1`);
  const sent = JSON.parse(sessionStorage.getItem(UNSENT) || "null");
  sessionStorage.removeItem(UNSENT);
  if (!wasRefused) return;
  document.cookie = `${UNSENT}=; path=/admin; max-age=0; samesite=lax`;
  if (sent && sent.login === login && sent.page === here()) restore(sent);
});

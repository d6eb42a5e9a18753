// Asks before what cannot be undone, and copies secrets; all else is HTML.
"use strict";

document.addEventListener(
  "submit",
  (event) => {
    const asked = event.submitter && event.submitter.dataset.confirm;
    if (asked && !window.confirm(asked)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  },
  true,
);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

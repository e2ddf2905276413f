// What was done is written down from any page of the room, in a dialog; without this script the link opens a page.
(() => {
  "use strict";
  const dialog = document.getElementById("write-down");
  if (!dialog?.showModal || !window.htmx) return;
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-close-dialog]")) return void event.target.closest("dialog")?.close();
    const link = event.target.closest("a[data-write-down]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    window.htmx
      .ajax("GET", link.href, { target: dialog, swap: "innerHTML" })
      .then(() => {
        if (!dialog.firstElementChild) return;
        if (!dialog.open) dialog.showModal();
        dialog.querySelector("textarea")?.focus();
      })
      .catch(() => (location.href = link.href));
  });
})();

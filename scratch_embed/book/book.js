// On paper every fold is open. What scrolls sideways can be reached with the keyboard.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:not([open])")) {
    fold.open = true;
    fold.dataset.closed = "";
  }
});
addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-closed]")) {
    fold.open = false;
    delete fold.dataset.closed;
  }
});

// The theme's captions are headings without a level.
addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) {
    caption.ariaLevel = "2";
  }
});

function reachable() {
  for (const box of document.querySelectorAll("pre, article table, mjx-container")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else if (box.tagName !== "MJX-CONTAINER") box.removeAttribute("tabindex");
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);

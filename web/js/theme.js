// Before anything is drawn: the theme that was chosen here before. Not a module, because modules run after the first drawing.
"use strict";
(() => {
  const read = () => { try { return localStorage.getItem("takt.theme"); } catch { return null; } };
  const set = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  set(read());
  const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const label = () => {
      button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
      button.title = button.getAttribute("aria-label");
    };
    label();
    button.addEventListener("click", () => {
      const theme = isDark() ? "light" : "dark";
      set(theme);
      try { localStorage.setItem("takt.theme", theme); } catch { /* the choice then lasts until the page is left */ }
      label();
      dispatchEvent(new Event("themechange"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); dispatchEvent(new Event("themechange")); });
  });
})();

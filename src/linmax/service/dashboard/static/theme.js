// Set the theme before the first paint; without a choice, the style sheet follows the system.
(function () {
  let theme = null;
  try {
    theme = localStorage.getItem("linmax-theme");
  } catch {
    // storage is off: follow the system
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();

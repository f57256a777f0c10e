// Not a module: it runs before the page is painted. By day, by night, or as the system has it: for this browser.
{
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const NAMES = { auto: "as the system", light: "light", dark: "dark" };
  const root = document.documentElement;
  const chosen = () => (NEXT[localStorage.getItem("theme")] ? localStorage.getItem("theme") : "auto");

  const show = () => {
    const theme = chosen();
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const button = document.getElementById("theme-button");
    button?.setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
    button?.setAttribute("title", `Colours: ${NAMES[theme]}`);
  };

  show();
  addEventListener("storage", show);
  addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme-button").addEventListener("click", () => {
      localStorage.setItem("theme", NEXT[chosen()]);
      show();
    });
  });
}

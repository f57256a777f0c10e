// Theme and language, which this browser keeps. Not a module: it must run before the
// page is painted.
{
  // A frame of another site may keep nothing: what it would keep lasts as long as its
  // page.
  for (const name of ["localStorage", "sessionStorage"]) {
    try {
      window[name].getItem("theme");
    } catch {
      const kept = new Map();
      const getItem = (key) => kept.get(key) ?? null,
        setItem = (key, text) => kept.set(key, text);
      Object.defineProperty(window, name, {
        value: { getItem, setItem, removeItem: (key) => kept.delete(key) },
      });
    }
  }
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const YEAR_SECONDS = 365 * 86_400;
  const root = document.documentElement;
  const chosen = () =>
    NEXT[localStorage.getItem("theme")] ? localStorage.getItem("theme") : "auto";

  const show = () => {
    const theme = chosen();
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const button = document.getElementById("theme-button");
    if (button) button.title = button.dataset[theme];
    button?.setAttribute("aria-label", button.dataset[theme]);
  };

  /** On a phone, open the menu of the header, until something else is pressed. */
  const wireMenu = () => {
    const button = document.getElementById("menu-button");
    const menu = document.getElementById("header-menu");
    const setOpen = (isOpen) => {
      menu.classList.toggle("open", isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
    };
    button.addEventListener("click", () => setOpen(!menu.classList.contains("open")));
    document.addEventListener("pointerdown", (event) => {
      const target = /** @type {Node} */ (event.target);
      if (!menu.contains(target) && !button.contains(target)) setOpen(false);
    });
    document.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape" || !menu.classList.contains("open")) return;
      setOpen(false);
      button.focus();
    });
  };

  show();
  addEventListener("storage", show);
  addEventListener("DOMContentLoaded", () => {
    show();
    wireMenu();
    document.getElementById("theme-button").addEventListener("click", () => {
      localStorage.setItem("theme", NEXT[chosen()]);
      show();
    });
    const chosenLanguage = /** @type {HTMLSelectElement} */ (
      document.getElementById("language")
    );
    chosenLanguage.addEventListener("change", () => {
      document.cookie = `language=${chosenLanguage.value}; path=${root.dataset.root}/; max-age=${YEAR_SECONDS}; samesite=lax`;
      location.reload();
    });
  });
}

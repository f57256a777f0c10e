const isPhone = matchMedia("(max-width: 44rem)");
/** The uppermost: they open from one another in the order of the page. */
const openSheet = () => [...document.querySelectorAll("dialog:modal")].at(-1);

function changed() {
  if (openSheet()) {
    if (isPhone.matches && !history.state?.sheet) history.pushState({ ...history.state, sheet: true }, "");
  } else if (history.state?.sheet) {
    history.back();
  }
}

/** As its own Esc does, so that whoever has more to do at its end does it. */
function close(dialog) {
  if (dialog.dispatchEvent(new Event("cancel", { cancelable: true }))) dialog.close();
}

/** On phones what lies over the page has an entry in the history: Back closes it first. */
export function watchSheets() {
  if (history.state?.sheet) history.replaceState({ ...history.state, sheet: false }, "");
  new MutationObserver(changed).observe(document.body, { subtree: true, attributeFilter: ["open"] });
  addEventListener("popstate", () => {
    const dialog = openSheet();
    if (dialog && !history.state?.sheet) close(dialog);
  });
}

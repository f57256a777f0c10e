import { byId } from "./dom.js";

const select = byId("mode");
const standard = [...select.options].find((option) => option.defaultSelected) ?? select.options[0];

export const chosenMode = () => select.value;

export const modeLabel = (name) => [...select.options].find(({ value }) => value === name)?.text ?? name;

/** Like the scope, the choice lives in the address; what goes without saying does not. */
function remember() {
  const url = new URL(location.href);
  if (select.value === standard.value) url.searchParams.delete("mode");
  else url.searchParams.set("mode", select.value);
  history.replaceState(history.state, "", url);
}

function describe() {
  const { description } = select.selectedOptions[0].dataset;
  byId("mode-description").textContent = description;
  byId("mode-description").classList.toggle("chosen", select.value !== standard.value);
  select.title = description;
}

export function wireMode() {
  const wanted = new URLSearchParams(location.search).get("mode");
  const offered = [...select.options].find(({ value, disabled }) => value === wanted && !disabled);
  select.value = (offered ?? standard).value;
  describe();
  select.addEventListener("change", () => {
    remember();
    describe();
  });
}

/** The answer mode that is chosen beside the question. */
import { byId } from "../common/dom.js";

const select = byId("mode");
const standard =
  [...select.options].find((option) => option.defaultSelected) ?? select.options[0];

export const chosenMode = () => select.value;

export const modeLabel = (name) =>
  [...select.options].find(({ value }) => value === name)?.text ?? name;

function describeMode() {
  const { description } = select.selectedOptions[0].dataset;
  byId("mode-description").textContent = description;
  byId("mode-description").classList.toggle("chosen", select.value !== standard.value);
  select.title = description;
}

/** Keep the mode in the address, like the scope, unless it is the standard one. */
export function wireMode() {
  const named = new URLSearchParams(location.search).get("mode");
  const available = [...select.options].find(
    ({ value, disabled }) => value === named && !disabled,
  );
  select.value = (available ?? standard).value;
  describeMode();
  select.addEventListener("change", () => {
    const url = new URL(location.href);
    if (select.value === standard.value) url.searchParams.delete("mode");
    else url.searchParams.set("mode", select.value);
    history.replaceState(history.state, "", url);
    describeMode();
  });
}

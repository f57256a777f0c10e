/** The tables of the page. */
import { byId, element } from "../common/dom.js";

/**
 * Fill a table, or show that it is empty.
 * @param {[string, (row: any) => any, string?][]} columns
 *   for each its name, its value (text or an element), and the class of its cells
 */
export function fill(id, rows, columns) {
  byId(`${id}-none`).hidden = rows.length > 0;
  byId(id).closest(".operator-table").hidden = !rows.length;
  byId(id).replaceChildren(
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...columns.map(([name, , kind = ""]) =>
          element("th", { scope: "col", className: kind, text: name }),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          ...columns.map(([, of, kind = ""]) =>
            element("td", { className: kind }, of(row) ?? ""),
          ),
        ),
      ),
    ),
  );
}

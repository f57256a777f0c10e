/** Who published a report, when and where. */
import { element } from "./dom.js";
import { t } from "./words.js";

/** Return the facts on the publication of a report, by their names. */
export const publicationFacts = (report) => ({
  [t("Publisher")]: report.publisher,
  [t("Authors")]: (report.authors ?? []).join("; "),
  [t("Publication date")]: report.publication_date,
  [t("Web address")]:
    report.source_url &&
    element("a", {
      href: report.source_url,
      rel: "noopener noreferrer",
      target: "_blank",
      text: report.source_url,
    }),
});

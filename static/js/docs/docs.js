// The API reference by Swagger UI. Requests use the cookie of this browser or a key.

const node = /** @type {HTMLElement} */ (document.getElementById("api"));

/** @type {any} */ (window).SwaggerUIBundle({
  domNode: node,
  url: node.dataset.description,
  validatorUrl: null, // it would send the description to a third party
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
});
document.documentElement.classList.toggle(
  "dark-mode",
  matchMedia("(prefers-color-scheme: dark)").matches,
);

// @ts-check
// The description of the API, by Swagger UI: requests are tried with the cookie of this browser or with a key.

const place = /** @type {HTMLElement} */ (document.getElementById("api"));

/** @type {any} */ (window).SwaggerUIBundle({
  domNode: place,
  url: place.dataset.description,
  validatorUrl: null, // it would send the description to somebody else's server
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
});
document.documentElement.classList.toggle("dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);

import { announce } from "./dom.js";

const PAUSE_MS = 1500;
let pending = 0;
let latest = "";

/** Progress comes faster than it can be listened to: of what came in the meantime the latest is said. */
export function announceSoon(text) {
  latest = text;
  pending ||= setTimeout(() => {
    pending = 0;
    announce(latest);
  }, PAUSE_MS);
}

/** What is said now is the end of it. */
export function announceNow(text) {
  clearTimeout(pending);
  pending = 0;
  announce(text);
}

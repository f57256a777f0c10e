/** The keys and the width of drawings whose points are buttons. */

/** Tab reaches one point, the arrow keys the others; Enter presses it. */
export function wireKeys(holder) {
  const points = () => [...holder.querySelectorAll(".point")];
  holder.addEventListener("focusin", ({ target }) => {
    const focused = target.closest(".point");
    if (focused)
      for (const point of points())
        point.setAttribute("tabindex", point === focused ? "0" : "-1");
  });
  holder.addEventListener("keydown", (event) => {
    const all = points();
    const place = all.indexOf(event.target.closest(".point"));
    if (place < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) all[(place + step + all.length) % all.length].focus();
    else if (event.key === "Enter" || event.key === " ")
      all[place].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return;
    event.preventDefault();
  });
}

/** Draw again whenever the width changes. */
export function whenResized(holder, show) {
  let width = 0;
  new ResizeObserver(() => {
    const available = Math.round(holder.clientWidth);
    if (!available || available === width) return;
    width = available;
    show(width);
    holder.querySelector(".point")?.setAttribute("tabindex", "0");
  }).observe(holder);
}

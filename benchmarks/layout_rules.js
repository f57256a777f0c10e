/**
 * The rules of the page's layout that a machine can check, evaluated in the page by
 * `pictures.py`. Returns a list of broken rules, each with the element that breaks it.
 */
() => {
  const MAX_BOX_SHARE = 0.25;
  const MIN_TARGET = 44;
  /** A longer word has no blank where it could break: an address, a file's name. */
  const MAX_WORD_CHARACTERS = 22;
  /** Of pixels: borders and rounding are no fault. */
  const TOLERANCE = 1.5;
  const CONTROLS = "button, a, select, summary, input, label.button, .chip";
  const LAYERS = "dialog, .composer, .site-header, .scope-panel, .toast, [popover]";

  const broken = [];
  const named = (node) =>
    [
      node.tagName.toLowerCase(),
      node.id && `#${node.id}`,
      ...[...node.classList].map((name) => `.${name}`),
      ` "${(node.textContent || node.getAttribute("aria-label") || "").trim().replace(/\s+/g, " ").slice(0, 40)}"`,
    ].join("");
  const report = (rule, node, detail = "") =>
    broken.push(`${rule}: ${named(node)} ${detail}`.trim());
  const isVisible = (node) =>
    node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !node.closest(".visually-hidden, .skip-link, svg, [inert]") &&
    !hiddenByClip(node);

  function hiddenByClip(node) {
    const { clipPath } = getComputedStyle(node);
    return clipPath !== "none" || node.getBoundingClientRect().width <= 1;
  }

  // Behind a modal dialog nothing can be pressed.
  const modal = document.querySelector("dialog:modal");
  const root = modal ?? document.body;
  const controls = [...root.querySelectorAll(CONTROLS)].filter(isVisible);

  /** A word of a control stands on one line, and inside its control. */
  function checkWords(control) {
    const walker = document.createTreeWalker(control, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data, parentElement } = walker.currentNode;
      if (!isVisible(parentElement) || control.tagName === "SELECT") continue;
      for (const { 0: word, index } of data.matchAll(/[^\s/\-–—]+/g)) {
        if (word.length > MAX_WORD_CHARACTERS) continue;
        const range = new Range();
        range.setStart(walker.currentNode, index);
        range.setEnd(walker.currentNode, index + word.length);
        const tops = [...range.getClientRects()].map(({ bottom }) => Math.round(bottom));
        if (Math.max(...tops) - Math.min(...tops) > 4)
          report("word on two lines", control, `"${word}"`);
      }
    }
  }

  /** Nothing is wider than the page but what scrolls in a box of its own. */
  function checkWidth() {
    const page = document.documentElement;
    if (page.scrollWidth > innerWidth)
      report("wider than the page", page, `${page.scrollWidth} of ${innerWidth} px`);
    for (const node of root.querySelectorAll("*")) {
      const { left, right, width } = node.getBoundingClientRect();
      if (!width || (left >= -TOLERANCE && right <= innerWidth + TOLERANCE)) continue;
      if (isVisible(node) && !isScrolled(node)) report("wider than the page", node);
    }
  }

  function isScrolled(node) {
    for (let box = node.parentElement; box; box = box.parentElement)
      if (box !== document.body && getComputedStyle(box).overflowX !== "visible")
        return true;
    return false;
  }

  function checkBox() {
    const box = document.querySelector(".ask-form");
    const share = (box?.offsetHeight ?? 0) / innerHeight;
    if (share > MAX_BOX_SHARE)
      report("question box too tall", box, `${box.offsetHeight} of ${innerHeight} px`);
  }

  /** No control lies over another of the same layer, and no pane over the page. */
  function checkOverlaps() {
    const boxes = controls.map((node) => ({
      node,
      layer: node.closest(LAYERS),
      box: shownBox(node),
    }));
    for (const [index, one] of boxes.entries())
      for (const other of boxes.slice(index + 1))
        if (
          one.layer === other.layer &&
          !one.node.contains(other.node) &&
          !other.node.contains(one.node) &&
          !isSameControl(one.node, other.node) &&
          overlap(one.box, other.box)
        )
          report("one over the other", one.node, `and ${named(other.node)}`);
    const panes = modal
      ? []
      : [...document.querySelectorAll("main, dialog[open]")].filter(isVisible);
    for (const [index, one] of panes.entries())
      for (const other of panes.slice(index + 1))
        if (overlap(one.getBoundingClientRect(), other.getBoundingClientRect()))
          report("one over the other", one, `and ${named(other)}`);
  }

  /** The part of a control that a box which scrolls around it does not cut off. */
  function shownBox(node) {
    let { left, right, top, bottom } = node.getBoundingClientRect();
    for (let box = node.parentElement; box; box = box.parentElement) {
      if (box === document.body || getComputedStyle(box).overflow === "visible") continue;
      const around = box.getBoundingClientRect();
      [left, right] = [Math.max(left, around.left), Math.min(right, around.right)];
      [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
    }
    return { left, right, top, bottom };
  }

  /** A label and its input, a list laid unseen over its icon. */
  const isSameControl = (one, other) =>
    one.labels?.[0] === other || other.labels?.[0] === one || isInline(one, other);
  /** Boxes of text in one paragraph touch where its lines are close. */
  const isInline = (one, other) =>
    one.parentElement === other.parentElement &&
    getComputedStyle(one).display.startsWith("inline") &&
    Boolean(one.closest(".prose"));

  function overlap(one, other) {
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return across > TOLERANCE && down > TOLERANCE;
  }

  /** With a finger every control outside a line of text is large enough. */
  function checkTargets() {
    if (!matchMedia("(pointer: coarse)").matches) return;
    for (const control of controls) {
      if (control.closest(".prose, .plot, .map") || control.matches("input[type=file]"))
        continue;
      const target = control.closest("label") ?? control;
      const { width, height } = target.getBoundingClientRect();
      if (height < MIN_TARGET - TOLERANCE || width < MIN_TARGET - TOLERANCE)
        report("target too small", control, `${Math.round(width)} x ${Math.round(height)} px`);
    }
  }

  controls.forEach(checkWords);
  checkWidth();
  if (!modal) checkBox();
  checkOverlaps();
  checkTargets();
  return [...new Set(broken)];
};

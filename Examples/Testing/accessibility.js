// Rules for pages, after those of axe: what every page must keep, checked in the browser.

function describe(element) {
  const name = element.tagName.toLowerCase();
  const text = (element.innerText || element.value || "").trim().slice(0, 30);
  return `${name}${element.id ? `#${element.id}` : ""} “${text}”`;
}

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !element.closest(".unseen, .skip");
}

// A canvas knows every notation of a color.
var canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
var known = new Map();

function channels(color) {
  if (!known.has(color)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(color, { rgb: [red, green, blue], alpha: alpha / 255 });
  }
  return known.get(color);
}

function ground(element) {
  for (let here = element; here; here = here.parentElement) {
    const { rgb, alpha } = channels(getComputedStyle(here).backgroundColor);
    if (alpha > 0.99) return rgb;
  }
  return [255, 255, 255];
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function nameOf(element) {
  const labelled = (element.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean)
    .map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
  const label = element.labels?.[0]?.textContent;
  return (element.getAttribute("aria-label") || labelled || label || element.textContent ||
    element.title || "").trim();
}

function violations() {
  const found = [];
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title.trim()) found.push("the page has no title");
  if (document.querySelectorAll("main").length !== 1) found.push("there is not one main");
  if (document.querySelectorAll("h1").length !== 1) found.push("there is not one h1");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => +h.tagName[1]);
  levels.forEach((level, index) => {
    if (index > 0 && level > levels[index - 1] + 1) found.push(`heading ${index} skips a level`);
  });
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids.filter((id, index) => ids.indexOf(id) !== index)) {
    found.push(`the id ${id} is used twice`);
  }
  const pointers = ["aria-describedby", "aria-labelledby", "for"];
  for (const attribute of pointers) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) found.push(`${attribute} of ${describe(element)}: no ${id}`);
      }
    }
  }
  for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (element.type === "hidden") continue;
    if (!nameOf(element)) found.push(`${describe(element)} has no name`);
    const box = element.getBoundingClientRect();
    const isInline = getComputedStyle(element).display === "inline";
    if (isShown(element) && !isInline && (box.height < 24 || box.width < 24)) {
      found.push(`${describe(element)} is smaller than 24 pixels`);
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element) || element.closest(":disabled")) continue;
    const style = getComputedStyle(element);
    const ratio = contrast(channels(style.color).rgb, ground(element));
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) {
      found.push(`contrast ${ratio.toFixed(2)} of ${describe(element)}`);
    }
  }
  for (const element of document.querySelectorAll("input, select, textarea")) {
    if (!isShown(element) || ["hidden", "range", "checkbox"].includes(element.type)) continue;
    const border = channels(getComputedStyle(element).borderTopColor).rgb;
    const ratio = contrast(border, ground(element.parentElement));
    if (ratio < 3) found.push(`contrast ${ratio.toFixed(2)} of the border of ${describe(element)}`);
  }
  const width = document.documentElement.clientWidth;
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    const clip = element.closest("[data-scrolls]");
    if (isShown(element) && !clip && box.width > 0 && (box.right > width + 1 || box.left < -1)) {
      found.push(`${describe(element)} is wider than the page`);
    }
  }
  return found;
}

// The walk with the Tab key: every control once, in the order of the page, each with an outline.
var focusable, walked;

function prepareFocusWalk(limit) {
  const all = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  focusable = [...document.querySelectorAll(all)].filter((element) =>
    !element.disabled && element.type !== "hidden" &&
    element.checkVisibility({ visibilityProperty: true })).slice(0, limit);
  walked = [];
  document.activeElement?.blur();
  window.scrollTo(0, 0);
  // Where the next Tab begins is the start of the page.
  const selection = getSelection();
  selection.removeAllRanges();
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
}

function recordFocus() {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  walked.push({
    element,
    hasOutline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  });
}

function focusViolations() {
  const found = [];
  focusable.forEach((element, index) => {
    const step = walked[index];
    if (step?.element !== element) {
      found.push(`step ${index} is ${describe(step.element)}, not ${describe(element)}`);
    } else if (!step.hasOutline) {
      found.push(`${describe(element)} has no outline`);
    }
  });
  return found;
}

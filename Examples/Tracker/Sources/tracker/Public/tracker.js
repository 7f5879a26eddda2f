// Keeps a page up to date. Everything works without this script, after a reload.
"use strict";

// Buttons that the script makes needless are hidden before they are seen.
document.documentElement.classList.add("scripted");

const page = document.body.dataset.page;
const news = document.getElementById("news");

// A form that somebody has begun to fill in, or that came back with errors, is not replaced.
const edited = new Set();
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-guard]");
  if (form) edited.add(form);
});

function isGuarded(region) {
  const forms = [...region.querySelectorAll("form[data-guard]")];
  return forms.some((form) => edited.has(form) || form.querySelector(".refusal"));
}

// Fetches the page again and replaces the regions that differ. The focus stays where it was.
async function refresh() {
  const response = await fetch(page, { headers: { Accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = document.activeElement?.id;
  for (const region of document.querySelectorAll("[data-live]")) {
    const replacement = fresh.getElementById(region.id);
    if (!replacement || region.outerHTML === replacement.outerHTML) continue;
    if (isGuarded(region)) {
      announce("Others have changed this issue. Your text is kept; saving merges it.");
      continue;
    }
    region.replaceWith(document.adoptNode(replacement));
  }
  if (focused && document.activeElement?.id !== focused) {
    const key = focused.replace(/-[a-z]+$/, "");
    const target = document.getElementById(focused) ?? document.getElementById(`${key}-link`);
    target?.focus({ preventScroll: true });
  }
}

function announce(text) {
  news.textContent = text;
  news.classList.add("fresh");
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => news.classList.remove("fresh"), 8000);
}

// However many commits there are, the page is fetched at most once a second.
let isWaiting = false;
let wasAsked = false;
function refreshSoon() {
  wasAsked = true;
  if (isWaiting) return;
  isWaiting = true;
  wasAsked = false;
  refresh().catch(() => {}).finally(() => setTimeout(() => {
    isWaiting = false;
    if (wasAsked) refreshSoon();
  }, 1000));
}

if (document.body.dataset.events) {
  const source = new EventSource(document.body.dataset.events);
  let wasLost = false;
  source.addEventListener("commit", (event) => {
    const commit = JSON.parse(event.data);
    announce(`${commit.author ?? "Somebody"}: ${commit.label ?? "an edit"}`);
    refreshSoon();
  });
  source.addEventListener("reset", () => location.reload());
  source.addEventListener("open", () => {
    if (wasLost) announce("The connection is back.");
    wasLost = false;
    document.body.classList.add("live");
  });
  source.addEventListener("error", () => {
    if (!wasLost) announce("The connection to the service is lost. Trying again…");
    wasLost = true;
    document.body.classList.remove("live");
  });
}

// The slider shows a revision while it is moved.
document.addEventListener("input", async (event) => {
  if (event.target.id !== "at") return;
  const at = event.target.value;
  const response = await fetch(`${page}?at=${at}`, { headers: { Accept: "text/html" } });
  if (!response.ok || event.target.value !== at) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.getElementById("past").replaceChildren(...fresh.getElementById("past").childNodes);
  const slider = fresh.getElementById("at");
  event.target.setAttribute("aria-valuetext", slider.getAttribute("aria-valuetext"));
  document.querySelector("label[for=at]").textContent =
    fresh.querySelector("label[for=at]").textContent;
});

// Takes over what others have written into a field of a refused form.
document.addEventListener("click", (event) => {
  const { input, text } = event.target.dataset ?? {};
  if (!input) return;
  const field = document.getElementById(input);
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

// The first thing that is read: what was refused, or the card that was moved.
(document.getElementById("refusal") ??
  (/^#[A-Z0-9]+-\d+$/.test(location.hash) &&
    document.getElementById(`${location.hash.slice(1)}-link`)))?.focus?.();

"use strict";
/* Show the view that the address names after #, so that links and "back" work. */
const TABS = [["overview", "Overview"], ["questions", "Questions"], ["diff", "Method diff"]];
const TAB_OF = { question: "questions", pair: "diff" };
const THEMES = ["auto", "light", "dark"];

grb.complain = function (error) {
  document.getElementById("main").prepend(grb.h("p", { class: "error", role: "alert" }, error.message));
};

let turn = 0;
grb.show = async function () {
  const mine = ++turn;
  const [view, ...words] = location.hash.slice(1).split("/").map((one) => { try { return decodeURIComponent(one); } catch { return one; } });
  const name = view in grb.views ? view : "overview";
  const main = document.getElementById("main");
  document.getElementById("tabs").replaceChildren(...TABS.map(([tab, text]) => grb.h("a", { href: `#${tab}`, "aria-current": tab === (TAB_OF[name] || name) ? "page" : null }, text)));
  grb.repaint = null;
  try {
    const elements = await grb.views[name](...words);
    if (mine !== turn) return;
    main.replaceChildren(...elements.filter(Boolean));
    main.dataset.view = name;
    if (name in TAB_OF) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
  } catch (error) {
    if (mine !== turn) return;
    main.replaceChildren();
    grb.complain(error);
  }
};

function theme(name) {
  const button = document.getElementById("theme");
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  button.onclick = () => {
    const next = THEMES[(THEMES.indexOf(name) + 1) % THEMES.length];
    try { localStorage.setItem("grb-theme", next); } catch { /* pages from disk may lack storage */ }
    theme(next);
  };
  if (grb.repaint) grb.repaint();
}

function storedTheme() {
  try { return THEMES.includes(localStorage.getItem("grb-theme")) ? localStorage.getItem("grb-theme") : "auto"; } catch { return "auto"; }
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const back = document.getElementById("back");
  if (back) back.click();
});
window.addEventListener("hashchange", grb.show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => grb.repaint && grb.repaint());

theme(storedTheme());
grb.load("index").then((index) => {
  grb.index = index;
  return grb.show();
}).catch(grb.complain);

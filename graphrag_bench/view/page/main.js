"use strict";
/* Which view is shown: by the part of the address behind #, so that links and "back" work. */
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
    const made = await grb.views[name](...words);
    if (mine !== turn) return;
    main.replaceChildren(...made.filter(Boolean));
    main.dataset.view = name;
    if (name in TAB_OF) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
  } catch (error) {
    if (mine !== turn) return;
    main.replaceChildren();
    grb.complain(error);
  }
};

function theme(asked) {
  const button = document.getElementById("theme");
  if (asked === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = asked;
  button.textContent = `Theme: ${asked}`;
  button.onclick = () => {
    const next = THEMES[(THEMES.indexOf(asked) + 1) % THEMES.length];
    try { localStorage.setItem("grb-theme", next); } catch { /* a page from disk may have no storage */ }
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

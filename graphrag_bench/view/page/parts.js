"use strict";
/* Data files, each loaded once, on first use. */
const grb = { loaded: new Map(), pending: new Map(), views: {} };

/* Called by a data file. */
grb.part = function (name, value) {
  grb.loaded.set(name, value);
};

grb.script = function (path) {
  if (!grb.pending.has(path)) {
    grb.pending.set(path, new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = path;
      element.onload = done;
      element.onerror = () => {
        grb.pending.delete(path);
        failed(new Error(`${path} is missing. Copy the whole folder of the page.`));
      };
      document.head.append(element);
    }));
  }
  return grb.pending.get(path);
};

/* Return a promise of the value of a data file. */
grb.load = async function (name) {
  if (!grb.loaded.has(name)) await grb.script(`data/${name}.js`);
  if (!grb.loaded.has(name)) throw new Error(`data/${name}.js does not contain the expected data.`);
  return grb.loaded.get(name);
};

"use strict";
/* Parts: files of data beside the page, each loaded once, when it is first asked for. */
const grb = { held: new Map(), waiting: new Map(), views: {} };

/* Called by the files of data themselves. */
grb.part = function (name, value) {
  grb.held.set(name, value);
};

grb.script = function (path) {
  if (!grb.waiting.has(path)) {
    grb.waiting.set(path, new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = path;
      element.onload = done;
      element.onerror = () => {
        grb.waiting.delete(path);
        failed(new Error(`${path} is missing: copy the whole folder of the page`));
      };
      document.head.append(element);
    }));
  }
  return grb.waiting.get(path);
};

/* The value of a part, as a promise. */
grb.load = async function (name) {
  if (!grb.held.has(name)) await grb.script(`data/${name}.js`);
  if (!grb.held.has(name)) throw new Error(`data/${name}.js holds another part`);
  return grb.held.get(name);
};

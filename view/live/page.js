"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const trees = document.getElementById("trees"), picker = document.getElementById("picker"), lost = document.getElementById("lost");
  const follow = "the case under way";
  let chosen = follow;

  // One tree at a time: that of the case under way, or the one that was chosen.
  const under = () => (document.querySelector("#where [data-case]") || { dataset: {} }).dataset.case;
  const title = (box) => (box.querySelector(".tree") || { dataset: {} }).dataset.title;
  const show = () => {
    const boxes = [...trees.children], names = boxes.map(title);
    const now = chosen === follow ? under() : chosen;
    const at = Math.max(0, names.indexOf(now));
    boxes.forEach((box, i) => { box.hidden = i !== at; });
    const buttons = [follow, ...names];
    if (picker.children.length !== buttons.length) {
      picker.replaceChildren(...buttons.map((name) => {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = name;
        b.addEventListener("click", () => { chosen = name; show(); });
        return b;
      }));
    }
    picker.hidden = boxes.length < 2;
    for (const b of picker.children) b.setAttribute("aria-pressed", String(b.textContent === chosen));
  };

  const put = (part) => {
    let box = document.getElementById(part.id) || [...trees.children].find((b) => b.dataset.part === part.id);
    if (!box) {
      box = document.createElement("div");
      box.dataset.part = part.id;
      trees.append(box);
    }
    const x = [...box.querySelectorAll(".scroll, .across")].map((e) => e.scrollLeft);
    box.innerHTML = part.html;
    box.querySelectorAll(".scroll, .across").forEach((e, i) => { e.scrollLeft = x[i] || 0; });
  };

  const source = new EventSource("events");
  source.addEventListener("open", () => { lost.hidden = true; });
  source.addEventListener("error", () => { lost.hidden = false; });
  source.addEventListener("part", (e) => { put(JSON.parse(e.data)); show(); });
  source.addEventListener("end", () => {
    source.close();
    document.documentElement.classList.add("ended");
  });
  show();
})();

"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

  // Tables: a button in each head sorts by its column, numbers as numbers.
  const valueOf = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((th, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      th.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") === "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((r, s) => {
          const a = valueOf(r, i), b = valueOf(s, i), c = compare(a, b);
          return down && a !== "" && b !== "" ? -c : c; // what is not given stays last
        });
        body.append(...rows);
        if (table.id === "cases") arrange();
      });
    });
  }

  // Cases: the drawings of each stand in the order of the table, and go with its row.
  const ofCases = [...document.querySelectorAll("#cases tbody tr")];
  const drawings = new Map();
  for (const f of document.querySelectorAll("figure[data-case]")) {
    if (!drawings.has(f.dataset.case)) drawings.set(f.dataset.case, []);
    drawings.get(f.dataset.case).push(f);
  }
  function arrange() {
    for (const row of document.querySelectorAll("#cases tbody tr"))
      for (const f of drawings.get(row.dataset.case) || [])
        if (f.classList.contains("small")) f.parentNode.append(f);
    for (const all of document.querySelectorAll(".panels > .wide")) { // fail-overs end with one of all cases
      if (all.parentNode.querySelector(".small")) all.parentNode.append(all);
    }
  }
  const filter = document.querySelector("#filter");
  if (filter && ofCases.length > 1) {
    const said = document.querySelector(".filter output");
    filter.closest(".filter").hidden = false;
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const row of ofCases) {
        const text = row.textContent.toLowerCase(), show = words.every((w) => text.includes(w));
        if (show) n++;
        row.hidden = !show;
        for (const f of drawings.get(row.dataset.case) || []) f.classList.toggle("filtered", !show);
      }
      said.textContent = words.length ? n + " of " + ofCases.length + " cases; drawings of all cases stay" : "";
      document.dispatchEvent(new Event("filtered"));
    });
  }

  // Drawings: what is under the pointer, or was touched, stands below them.
  for (const box of document.querySelectorAll(".panels")) {
    const readout = box.nextElementSibling;
    if (!readout || !readout.matches(".readout")) continue;
    const name = (rect) => {
      const f = rect.closest("figure"), caption = f.querySelector("figcaption").firstChild;
      return caption && caption.nodeType === 3 && caption.textContent.trim() ? caption.textContent.trim() + ", " : "";
    };
    const tell = (e) => {
      const rect = e.target.closest && e.target.closest(".tips rect");
      if (!rect) return;
      const text = rect.classList.contains("cells") ? square(rect, e) : rect.querySelector("title").textContent;
      readout.textContent = name(rect) + text;
      readout.classList.add("full");
    };
    readout.textContent = "Point at a drawing, or touch it, to read its figures.";
    readout.hidden = !box.querySelector(".tips");
    box.addEventListener("pointermove", tell);
    box.addEventListener("pointerdown", tell);
  }
  const maps = new Map();
  function square(rect, e) {
    const figure = rect.closest("figure");
    if (!maps.has(figure)) {
      const [unit, most, positions, data] = figure.dataset.cells.split("|");
      maps.set(figure, { unit, most: Number(most), positions: positions.split(" "), data: bytes(data) });
    }
    const m = maps.get(figure), n = m.positions.length, at = rect.getBoundingClientRect();
    const column = Math.min(n - 1, Math.max(0, Math.floor((e.clientX - at.left) / at.width * n)));
    const row = Math.min(n - 1, Math.max(0, Math.floor((e.clientY - at.top) / at.height * n)));
    const i = 2 * (row * n + column), v = 256 * m.data[i] + m.data[i + 1];
    const pair = "server " + m.positions[row] + " to " + m.positions[column] + ": ";
    const text = pair + (v === 65535 ? "none" : (v / 65534 * m.most).toPrecision(3) + " " + m.unit);
    rect.querySelector("title").textContent = text;
    return text;
  }

  // Trees: one case at a time, and one phase of it.
  for (const box of document.querySelectorAll(".trees")) {
    const trees = [...box.querySelectorAll(".tree")];
    if (trees.length < 2) continue;
    const picker = document.createElement("div");
    picker.className = "picker";
    picker.setAttribute("role", "group");
    picker.setAttribute("aria-label", "Case");
    const buttons = trees.map((tree) => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = tree.dataset.title;
      b.addEventListener("click", () => pick(tree));
      picker.append(b);
      return b;
    });
    const pick = (chosen) => trees.forEach((tree, i) => {
      tree.classList.toggle("off", tree !== chosen);
      buttons[i].setAttribute("aria-pressed", String(tree === chosen));
    });
    box.prepend(picker);
    document.addEventListener("filtered", () => {
      buttons.forEach((b, i) => { b.hidden = trees[i].classList.contains("filtered"); });
      const chosen = trees.find((t) => !t.classList.contains("off"));
      const left = trees.find((t) => !t.classList.contains("filtered"));
      if (chosen.classList.contains("filtered") && left) pick(left);
    });
    pick(trees.find((t) => t.querySelector(".k.dead") && t.dataset.phases) || trees.find((t) => t.querySelector(".timed, .k.dead")) || trees[0]);
  }

  const unpack = (text) => {
    const colon = text.indexOf(":"), width = Number(text.slice(0, colon));
    const packed = bytes(text.slice(colon + 1));
    return (n) => {
      let v = 0;
      for (let bit = n * width, end = bit + width; bit < end; bit++) v = v * 2 + ((packed[bit >> 3] >> (7 - (bit & 7))) & 1);
      return v;
    };
  };
  const step = (n) => (n <= 3 ? n : n <= 5 ? 4 : n <= 8 ? 5 : 6);

  for (const tree of document.querySelectorAll(".tree")) {
    const links = [...tree.querySelectorAll(".k")], wires = 2 * links.length;
    const titles = links.map((k) => k.querySelector("title").textContent);
    const lines = links.map((k) => [...k.querySelectorAll("path:not(.h)")]);
    const whole = lines.map((pair) => pair.map((p) => p.getAttribute("class")));
    const readout = tree.querySelector(".readout"), svg = tree.querySelector(".tree-svg");
    let phase = 0, at = -1, load = null;

    const say = (i) => {
      if (!phase || !lines[i].length) return titles[i];
      const name = titles[i].slice(0, titles[i].indexOf(":"));
      const n = (phase - 1) * wires + 2 * i;
      return name + ", phase " + phase + ": up " + load(n) + ", down " + load(n + 1);
    };
    const show = (i) => {
      if (at >= 0) links[at].classList.remove("at");
      at = i;
      if (i < 0) return;
      links[i].classList.add("at");
      readout.textContent = say(i);
    };
    readout.hidden = false;
    const hint = "Point at a link, or move with the arrow keys, to read its load.";
    readout.textContent = hint;
    links.forEach((k, i) => k.addEventListener("pointerenter", () => show(i)));

    const spines = tree.querySelectorAll(".switch").length;
    const across = (() => { // links stand leaf by leaf; the first leaf's end where the name changes
      const leaf = (i) => titles[i].slice(0, titles[i].indexOf("-"));
      let n = 1;
      while (n < links.length && leaf(n) === leaf(0)) n++;
      return Math.min(n, spines);
    })();
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
    svg.addEventListener("keydown", (e) => {
      if (!(e.key in moves)) return;
      e.preventDefault();
      const to = at < 0 ? 0 : at + moves[e.key];
      if (to >= 0 && to < links.length) show(to);
    });

    if (!tree.dataset.loads) continue;
    load = unpack(tree.dataset.loads);
    const phases = Number(tree.dataset.phases);
    const slider = tree.querySelector("input"), label = tree.querySelector("output.phase");
    tree.querySelector(".control-row").hidden = false;
    const busiest = (p) => {
      let most = 0;
      for (let w = 0; w < wires; w++) most = Math.max(most, load((p - 1) * wires + w));
      return most;
    };
    const paint = () => {
      phase = Number(slider.value);
      lines.forEach((pair, i) => pair.forEach((line, d) => {
        const n = phase ? load((phase - 1) * wires + 2 * i + d) : 0;
        line.setAttribute("class", phase ? "l" + step(n) : whole[i][d]);
      }));
      // The most loaded links come last, over all others.
      const top = (i) => Math.max(0, ...lines[i].map((line) => Number(line.getAttribute("class").slice(1))));
      const order = links.map((k, i) => [top(i), k]).sort((a, b) => a[0] - b[0]);
      links[0].parentNode.append(...order.map((o) => o[1]));
      const most = phase ? busiest(phase) : 0;
      label.textContent = phase ? "phase " + phase + " of " + phases + ", at most " + most : "whole exchange";
      slider.setAttribute("aria-valuetext", label.textContent);
      for (const s of tree.querySelectorAll(".legend span[data-phase]")) s.textContent = phase ? s.dataset.phase : s.dataset.total;
      links.forEach((k, i) => { k.querySelector("title").textContent = say(i); });
      if (at >= 0) show(at);
    };
    slider.addEventListener("input", paint);
    paint();
    const next = tree.querySelector(".next");
    const shared = [];
    for (let p = 1; p <= phases; p++) if (busiest(p) > 1) shared.push(p);
    if (!shared.length) next.hidden = true;
    next.addEventListener("click", () => {
      slider.value = shared.find((p) => p > phase) || shared[0];
      paint();
    });
  }
})();

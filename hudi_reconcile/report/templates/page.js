"use strict";
(() => {
  const text = (row, column) => (row.cells[column] ? row.cells[column].textContent.trim() : "");
  const number = (words) => (/^[+\u2212-]?[\d,.]+%?( |$)/.test(words) ? parseFloat(words.replace(/,/g, "").replace("\u2212", "-")) : NaN);
  const compare = (one, other) => {
    const [a, b] = [number(one), number(other)];
    return isNaN(a) || isNaN(b) ? one.localeCompare(other) : a - b;
  };
  for (const table of document.querySelectorAll("table[data-sort]")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("thead th").forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => compare(text(a, column), text(b, column)) * (up ? 1 : -1));
        body.append(...rows);
      });
    });
  }
  for (const place of document.querySelectorAll(".filter")) {
    const list = place.nextElementSibling;
    const label = document.createElement("label");
    const field = document.createElement("input");
    field.type = "search";
    label.append(place.dataset.filter + " ", field);
    place.append(label);
    const lines = list.matches("table") ? [...list.tBodies[0].rows] : [...list.children];
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const line of lines) line.hidden = !line.textContent.toLowerCase().includes(wanted);
    });
  }
  for (const code of navigator.clipboard ? document.querySelectorAll("pre.command code") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    code.parentNode.append(button);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    });
  }
})();

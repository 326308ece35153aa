"use strict";
// Sorting, downloads and printing. The page is complete without this script.
(() => {
  const number = (text) => (text === "" ? NaN : Number(text));

  function compare(a, b) {
    const x = number(a), y = number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (a === "" || b === "") return (a === "") - (b === "");
    return a.localeCompare(b, undefined, { numeric: true });
  }

  document.querySelectorAll("table.grid").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((h) => h.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row, at) => [row.cells[column].dataset.v, at, row]);
        rows.sort((p, q) => (down ? -1 : 1) * compare(p[0], q[0]) || p[1] - q[1]);
        body.append(...rows.map((r) => r[2]));
      });
    });
  });

  function save(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  }

  function csv(button) {
    const data = JSON.parse(button.closest("p").nextElementSibling.textContent);
    const cell = (x) => (/[",\n\r]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
    const lines = [data.keys, ...data.rows].map((row) => row.map(cell).join(","));
    save(URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" })), button.dataset.file);
  }

  // a picture is saved as drawn for a white page, whatever the page looks like now
  function svgText(button) {
    const copy = button.closest("figure").querySelector(".wide svg").cloneNode(true);
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    paper.setAttribute("width", "100%");
    paper.setAttribute("height", "100%");
    paper.setAttribute("fill", "#ffffff");
    copy.prepend(paper);
    return new XMLSerializer().serializeToString(copy);
  }

  function png(button) {
    const text = svgText(button);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      save(canvas.toDataURL("image/png"), button.dataset.file);
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }

  const get = {
    csv,
    png,
    svg: (button) => save(URL.createObjectURL(new Blob([svgText(button)], { type: "image/svg+xml" })), button.dataset.file),
  };
  document.querySelectorAll("button.get").forEach((button) => button.addEventListener("click", () => get[button.dataset.get](button)));

  // paper has no clicks: open every table, and close again what was closed
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((d) => d.querySelectorAll("tbody tr").length <= 40);
    opened.forEach((d) => (d.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((d) => (d.open = false)));
})();

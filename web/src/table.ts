// Which rows of many are shown: filtered, sorted, one page of them.

import { el, plural, setText } from "./dom";

export const PAGE_SIZES = [25, 50, 100];

export interface Column<T> {
  title: string;
  /** What to sort by; numbers fall first. Without it the column is not sortable. */
  key?: (row: T) => number | string;
  className?: string;
}

/** The head of a table whose buttons sort it, and the order that they chose. */
export class Sorting<T> {
  readonly head: HTMLTableSectionElement;
  private readonly cells: HTMLTableCellElement[] = [];
  private column = 0;
  private falling = false;

  constructor(
    private readonly columns: Column<T>[],
    private readonly onChange: () => void,
  ) {
    const row = el("tr");
    columns.forEach((column, index) => {
      const cell = el("th", { scope: "col", class: column.className ?? "" });
      if (column.key === undefined) {
        cell.textContent = column.title;
      } else {
        cell.append(el("button", { type: "button", class: "sort", click: () => this.choose(index) }, column.title));
      }
      this.cells.push(cell);
      row.append(cell);
    });
    this.head = el("thead", {}, row);
    this.show();
  }

  /** Whether the order depends on numbers that move. */
  get moving(): boolean {
    return this.column !== 0;
  }

  sort(rows: T[]): void {
    const key = this.columns[this.column]?.key;
    if (key === undefined) return;
    const sign = this.falling ? -1 : 1;
    const keyed = rows.map((row, index) => ({ row, index, key: key(row) }));
    keyed.sort((a, b) => {
      if (a.key === b.key) return a.index - b.index;
      return (a.key < b.key ? -1 : 1) * sign;
    });
    keyed.forEach((entry, index) => (rows[index] = entry.row));
  }

  private choose(index: number): void {
    if (this.column === index) {
      this.falling = !this.falling;
    } else {
      this.column = index;
      this.falling = index !== 0; // of numbers the largest are wanted first
    }
    this.show();
    this.onChange();
  }

  private show(): void {
    this.cells.forEach((cell, index) => {
      if (this.columns[index]?.key === undefined) return;
      const state = index !== this.column ? "none" : this.falling ? "descending" : "ascending";
      cell.setAttribute("aria-sort", state);
    });
  }
}

/** Goes through pages of rows. */
export class Pager {
  readonly element: HTMLElement;
  private page = 0;
  private total = 0;
  private readonly text = el("span");
  private readonly back: HTMLButtonElement;
  private readonly on: HTMLButtonElement;
  private readonly sizes: HTMLSelectElement;

  constructor(what: string, onChange: () => void) {
    const go = (by: number) => () => {
      this.page += by;
      onChange();
    };
    this.back = el("button", { type: "button", click: go(-1) }, "Back");
    this.on = el("button", { type: "button", click: go(1) }, "Next");
    this.sizes = el(
      "select",
      { "aria-label": "Rows on a page", change: onChange },
      ...PAGE_SIZES.map((size) => el("option", { value: size }, `${size} rows`)),
    );
    this.element = el(
      "nav",
      { class: "pager", "aria-label": `Pages of ${what}` },
      this.text,
      this.back,
      this.on,
      this.sizes,
    );
  }

  reset(): void {
    this.page = 0;
  }

  /** The part of `rows` that is on the page. */
  slice<T>(rows: T[], one: string): T[] {
    const size = Number(this.sizes.value);
    const pages = Math.max(1, Math.ceil(rows.length / size));
    this.total = rows.length;
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const first = this.page * size;
    const last = Math.min(first + size, this.total);
    setText(
      this.text,
      pages === 1 ? plural(this.total, one) : `${first + 1}–${last} of ${plural(this.total, one)}`,
    );
    this.back.disabled = this.page === 0;
    this.on.disabled = this.page === pages - 1;
    this.element.classList.toggle("single", this.total <= (PAGE_SIZES[0] ?? 0));
    return rows.slice(first, last);
  }
}

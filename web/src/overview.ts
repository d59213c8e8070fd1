// The overview: health, sums, and a row for each workload.

import { ago, amount, clockTime, el, plural, setClass, setText } from "./dom";
import { Health } from "./health";
import { fetchJson, Live, path } from "./live";
import type { Frame } from "./main";
import { Sparkline } from "./plot";
import { type Column, Pager, Sorting } from "./table";
import { AHEAD, type Change, type History, METRIC_TITLES, METRIC_WORDS, METRICS, type Overview, type Row } from "./types";

/** Between two looks at the history, which has a point in five seconds. */
const HISTORY_MS = 5_000;
/** How often rows may change places by themselves. */
const RESORT_MS = 5_000;
const PLOT_WIDTH = 140;
const PLOT_HEIGHT = 30;

// What a person chose stays when they come back from a workload.
const chosen = { filter: "", metric: 0, troubled: false, unheard: false };

function key(ns: string, name: string): string {
  return JSON.stringify([ns, name]);
}

function troubled(row: Row): boolean {
  return row.pods[1] > 0 || row.pods[2] > 0 || (row.hpa !== null && row.hpa.fault !== "");
}

export function targetText(hpa: Row["hpa"]): string {
  if (hpa === null) return "–";
  if (hpa.fault !== "") return "not readable";
  const [first] = hpa.targets;
  if (first === undefined) return "–";
  const ours = METRIC_WORDS[METRICS.findIndex((name) => name === first.metric)];
  const unit = first.type === "Utilization" ? " %" : "";
  const each = first.type === "AverageValue" ? " each" : "";
  const more = hpa.targets.length > 1 ? ` +${hpa.targets.length - 1}` : "";
  return `${ours ?? first.metric} ${amount(first.target)}${unit}${each}${more}`;
}

function replicasText(row: Row): string {
  if (row.hpa !== null) {
    const { current, desired } = row.hpa;
    return current === desired ? amount(current) : `${amount(current)} → ${amount(desired)}`;
  }
  return row.replicas === null ? "–" : `${amount(row.replicas[1])} of ${amount(row.replicas[0])}`;
}

/** The cells of one row of the table; reused for another workload when the page turns. */
class Line {
  readonly element: HTMLTableRowElement;
  private readonly name = el("a");
  private readonly ns = el("span", { class: "ns" });
  private readonly values = [0, 1, 2].map(() => el("td", { class: "number" }));
  private readonly plotCell = el("td", { class: "plot" });
  private readonly plotText = el("span", { class: "hidden" });
  private readonly spread = el("td", { class: "number" });
  private readonly pods = el("td", { class: "number" });
  private readonly missing = el("td", { class: "number" });
  private readonly stale = el("td", { class: "number" });
  private readonly target = el("td", { class: "target" });
  private readonly replicas = el("td", { class: "number" });
  private readonly bounds = el("span", { class: "faint" });
  private readonly replicaText = el("span");
  private readonly ahead = el("span", { class: "ahead" });
  private readonly changed = el("td", { class: "number" });
  private plot: Sparkline | null = null;

  constructor() {
    this.replicas.append(this.replicaText, " ", this.bounds, this.ahead);
    this.plotCell.append(this.plotText);
    this.element = el(
      "tr",
      {},
      el("th", { scope: "row" }, this.name, this.ns),
      ...this.values,
      this.plotCell,
      this.spread,
      this.pods,
      this.missing,
      this.stale,
      this.target,
      this.replicas,
      this.changed,
    );
  }

  show(row: Row, metric: number, now: number): void {
    setText(this.name, row.name);
    setText(this.ns, row.ns);
    const href = "#" + path("w", row.ns, row.name);
    if (this.name.getAttribute("href") !== href) this.name.setAttribute("href", href);
    row.values.forEach((value, index) => {
      const cell = this.values[index];
      if (cell === undefined) return;
      setText(cell, value === null && row.pods[0] > 0 ? "missing" : amount(value));
      setClass(cell, "chosen", index === metric);
      setClass(cell, "faint", value === null);
    });
    const spread = row.spread[metric];
    setText(this.spread, spread ? `${amount(spread[0])} – ${amount(spread[1])}` : "–");
    const [all, missing, stale] = row.pods;
    setText(this.pods, amount(all));
    setText(this.missing, amount(missing));
    setText(this.stale, amount(stale));
    setClass(this.missing, "bad", missing > 0);
    setClass(this.stale, "warn", stale > 0);
    setText(this.target, targetText(row.hpa));
    this.target.title = row.hpa === null ? "" : `HPA ${row.hpa.name} ${row.hpa.fault}`;
    setText(this.replicaText, replicasText(row));
    setText(this.bounds, row.hpa === null ? "" : `(${row.hpa.min}–${row.hpa.max})`);
    const [mark, meaning] = AHEAD[row.hpa?.ahead ?? "off"];
    setText(this.ahead, mark);
    this.ahead.title = mark === "" ? "" : `Steps ahead are ${meaning}`;
    setClass(this.ahead, "warn", row.hpa?.ahead === "broken");
    const at = row.hpa?.changed ?? null;
    setText(this.changed, at === null ? "–" : `${ago(now - at)} ago`);
    this.changed.title = at === null ? "" : new Date(at).toLocaleString("en-GB");
  }

  showHistory(history: History, points: (number | null)[]): void {
    this.plot ??= new Sparkline(this.plotCell, PLOT_WIDTH, PLOT_HEIGHT);
    this.plot.set(history.at, history.step, points);
    const known = points.filter((point) => point !== null);
    setText(
      this.plotText,
      known.length === 0
        ? "nothing known"
        : `from ${amount(Math.min(...known))} to ${amount(Math.max(...known))}`,
    );
  }

  redraw(): void {
    this.plot?.redraw();
  }
}

export class OverviewPage {
  private readonly rows = new Map<string, Row>();
  private at = 0;
  private shown: Row[] = [];
  private readonly lines: Line[] = [];
  private sortedAt = 0;

  private readonly health = new Health();
  private readonly problem = el("p", { class: "problem", role: "status", hidden: true });
  private readonly hint = el("p", { class: "hint", hidden: true });
  private readonly sums = el("dl", { class: "tiles" });
  private readonly streams = el("ul", { class: "streams" });
  private readonly body = el("tbody");
  private readonly table: HTMLTableElement;
  private readonly empty = el("p", { class: "empty" }, "Waiting for the first numbers.");
  private readonly sorting: Sorting<Row>;
  private readonly pager: Pager;
  private readonly unheardCount = el("span");
  private readonly live: Live;
  private readonly historyTimer: number;
  private readonly gone = new AbortController();

  constructor(private readonly frame: Frame) {
    this.sorting = new Sorting(this.columns(), () => this.arrange(true));
    this.pager = new Pager("workloads", () => this.arrange(false));
    this.table = el("table", { class: "workloads" }, this.caption(), this.sorting.head, this.body);
    frame.content.append(
      el("h1", { class: "hidden" }, "Overview"),
      this.problem,
      this.health.element,
      this.sums,
      el("section", { "aria-label": "Streams of each replica", class: "streamlist" }, this.streams),
      el(
        "section",
        { "aria-label": "Workloads" },
        this.toolbar(),
        this.hint,
        el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table of workloads" }, this.table),
        this.empty,
      ),
    );
    this.live = new Live(
      path("events"),
      {
        overview: (data) => this.takeAll(JSON.parse(data) as Overview),
        change: (data) => this.measure(() => this.take(JSON.parse(data) as Change)),
      },
      (state) => frame.setLink(state),
    );
    this.historyTimer = window.setInterval(() => void this.loadHistory(), HISTORY_MS);
  }

  close(): void {
    this.live.close();
    this.gone.abort();
    window.clearInterval(this.historyTimer);
  }

  redraw(): void {
    for (const line of this.lines) line.redraw();
  }

  private caption(): HTMLElement {
    return el(
      "caption",
      { class: "hidden" },
      "Workloads with their requests and connections in flight now, the last 15 minutes, their pods and their autoscaler",
    );
  }

  private columns(): Column<Row>[] {
    const number = (value: number | null | undefined) => value ?? -1;
    return [
      { title: "Workload", key: (row) => `${row.ns}/${row.name}` },
      ...METRIC_WORDS.map((word, index) => ({
        title: word,
        className: "number",
        key: (row: Row) => number(row.values[index]),
      })),
      { title: "last 15 minutes", className: "plot" },
      { title: "per pod", className: "number", key: (row) => number(row.spread[chosen.metric]?.[1]) },
      { title: "pods", className: "number", key: (row) => row.pods[0] },
      { title: "missing", className: "number", key: (row) => row.pods[1] },
      { title: "stale", className: "number", key: (row) => row.pods[2] },
      { title: "HPA target", key: (row) => targetText(row.hpa) },
      {
        title: "replicas",
        className: "number",
        key: (row) => number(row.hpa?.desired ?? row.replicas?.[0]),
      },
      { title: "last change", className: "number", key: (row) => number(row.hpa?.changed) },
    ];
  }

  private toolbar(): HTMLElement {
    const choose = (change: () => void) => () => {
      change();
      this.pager.reset();
      this.arrange(true);
    };
    const filter = el("input", {
      type: "search",
      placeholder: "Filter: namespace, workload, HPA",
      "aria-label": "Filter workloads",
      spellcheck: "false",
      autocomplete: "off",
    });
    filter.value = chosen.filter;
    filter.addEventListener("input", choose(() => (chosen.filter = filter.value)));
    const metric = el(
      "select",
      { "aria-label": "Metric of the plot and of the pods' spread" },
      ...METRIC_WORDS.map((word, index) => el("option", { value: index }, word)),
    );
    metric.value = String(chosen.metric);
    metric.addEventListener("change", choose(() => (chosen.metric = Number(metric.value))));
    const box = (text: Node | string, member: "troubled" | "unheard") => {
      const input = el("input", { type: "checkbox" });
      input.checked = chosen[member];
      input.addEventListener("change", choose(() => (chosen[member] = input.checked)));
      return el("label", {}, input, " ", text);
    };
    return el(
      "div",
      { class: "toolbar", role: "search" },
      filter,
      el("label", {}, "Plot ", metric),
      box("missing or stale only", "troubled"),
      box(this.unheardCount, "unheard"),
      this.pager.element,
    );
  }

  /** Keeps the time of each update where the browser's tools show it. */
  private measure(update: () => void): void {
    const start = performance.now();
    update();
    if (performance.getEntriesByName("update").length > 600) performance.clearMeasures("update");
    performance.measure("update", { start, end: performance.now() });
  }

  private takeAll(overview: Overview): void {
    this.rows.clear();
    for (const row of overview.rows) this.rows.set(key(row.ns, row.name), row);
    this.takeHead(overview);
    this.arrange(true);
  }

  private take(change: Change): void {
    let moved = change.gone.length > 0;
    for (const row of change.rows) {
      const known = this.rows.get(key(row.ns, row.name));
      if (known === undefined) {
        this.rows.set(key(row.ns, row.name), row as Row);
        moved = true;
      } else {
        Object.assign(known, row);
      }
    }
    for (const [ns, name] of change.gone) this.rows.delete(key(ns, name));
    this.takeHead(change);
    const due = performance.now() - this.sortedAt > RESORT_MS && !this.inUse();
    if (moved || due) this.arrange(false);
    else this.show();
  }

  /** Whether somebody points at a row, whose place must then not change. */
  private inUse(): boolean {
    return this.body.matches(":hover, :focus-within");
  }

  private takeHead(head: Overview | Change): void {
    this.at = head.at;
    if (head.facts !== undefined) {
      this.frame.setFacts(head.facts);
      setText(this.hint, head.facts.noHpas === "" ? "" : `HPAs: ${head.facts.noHpas}.`);
      this.hint.hidden = head.facts.noHpas === "";
    }
    if (head.checks !== undefined) this.health.set(head.checks);
    if (head.problem !== undefined) {
      setText(this.problem, head.problem);
      this.problem.hidden = head.problem === "";
    }
    if (head.streams !== undefined) {
      this.streams.replaceChildren(
        ...head.streams.map(([replica, open]) =>
          el("li", {}, el("b", {}, plural(open, "stream")), ` of Envoys at ${replica}`),
        ),
      );
    }
  }

  /** Filters and sorts all rows, and shows one page of them. */
  private arrange(fetch: boolean): void {
    const words = chosen.filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let unheard = 0;
    const rows: Row[] = [];
    for (const row of this.rows.values()) {
      const silent = !row.heard && row.hpa === null;
      if (silent) ++unheard;
      if (silent && !chosen.unheard) continue;
      if (chosen.troubled && !troubled(row)) continue;
      const text = `${row.ns}/${row.name} ${row.hpa?.name ?? ""}`.toLowerCase();
      if (words.every((word) => text.includes(word))) rows.push(row);
    }
    setText(this.unheardCount, `also ${amount(unheard)} that pushed nothing for 15 min`);
    this.sorting.sort(rows);
    this.sortedAt = performance.now();
    const before = this.shown;
    this.shown = this.pager.slice(rows, "workload");
    setText(
      this.empty,
      this.rows.size === 0
        ? "No workload is known yet: no Envoy pushes, and no pod is there."
        : "No workload is like that.",
    );
    this.empty.hidden = rows.length > 0;
    this.show();
    const other = this.shown.length !== before.length || this.shown.some((row, i) => row !== before[i]);
    if (fetch || other) void this.loadHistory();
  }

  private show(): void {
    while (this.lines.length < this.shown.length) this.lines.push(new Line());
    this.shown.forEach((row, index) => this.lines[index]?.show(row, chosen.metric, this.at));
    if (this.body.children.length !== this.shown.length) {
      this.body.replaceChildren(...this.lines.slice(0, this.shown.length).map((line) => line.element));
    }
    this.showSums();
  }

  private showSums(): void {
    const sums = [0, 0, 0];
    let pods = 0;
    let missing = 0;
    for (const row of this.rows.values()) {
      row.values.forEach((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0)));
      if (!row.heard) continue;
      pods += row.pods[0];
      missing += row.pods[1];
    }
    const tiles: [string, string][] = [
      ...METRIC_TITLES.map((title, i): [string, string] => [title, amount(sums[i])]),
      ["pods heard", `${amount(pods - missing)} of ${amount(pods)}`],
      ["as of", clockTime(this.at)],
    ];
    while (this.sums.children.length < tiles.length) this.sums.append(el("div", {}, el("dt"), el("dd")));
    tiles.forEach(([title, value], index) => {
      const [dt, dd] = Array.from(this.sums.children[index]?.children ?? []);
      if (dt) setText(dt, title);
      if (dd) setText(dd, value);
    });
  }

  private async loadHistory(): Promise<void> {
    if (document.hidden || this.shown.length === 0) return;
    const rows = this.shown;
    const names = rows.flatMap((row) => [row.ns, row.name]);
    const history = await fetchJson<History>(path("history", String(chosen.metric), ...names), this.gone.signal);
    if (history === null || rows !== this.shown) return;
    history.workloads.forEach((workload, index) => this.lines[index]?.showHistory(history, workload.values));
  }
}

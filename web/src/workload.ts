// One workload: its pods, its load against what the target allows, and what its HPA makes of it.

import { ago, amount, el, plural, setClass, setText } from "./dom";
import { fetchJson, Live, path } from "./live";
import type { Frame } from "./main";
import { LoadPlot } from "./plot";
import { type Column, Pager, Sorting } from "./table";
import {
  AHEAD,
  type Explanation,
  METRIC_TITLES,
  METRIC_WORDS,
  METRICS,
  type Pod,
  type Target,
  type WholeHistory,
  type Workload,
} from "./types";

const HISTORY_MS = 5_000;

/** The HPA's target of a metric of ours for each pod, of which the plot can show the limit. */
function perPodTarget(workload: Workload | null, metric: number): Target | null {
  for (const hpa of workload?.hpas ?? []) {
    const found = hpa.targets.find((t) => t.perPod && t.metric === METRICS[metric]);
    if (found !== undefined) return found;
  }
  return null;
}

/** The metric that an HPA scales by, else the first that any pod has more of than nothing. */
function usualMetric(workload: Workload): number {
  const scaled = METRICS.findIndex((_name, index) => perPodTarget(workload, index) !== null);
  if (scaled >= 0) return scaled;
  return Math.max(0, workload.values.findIndex((value) => (value ?? 0) > 0));
}

class PodLine {
  readonly element: HTMLTableRowElement;
  private readonly name = el("th", { scope: "row" });
  private readonly value = el("span", { class: "barvalue" });
  private readonly bar = el("span", { class: "bar-fill" });
  private readonly mark = el("span", { class: "bar-mark" });
  private readonly age = el("td", { class: "number" });
  private readonly state = el("td");

  constructor() {
    this.element = el(
      "tr",
      {},
      this.name,
      el(
        "td",
        { class: "bars" },
        el("span", { class: "bar-track", "aria-hidden": "true" }, this.bar, this.mark),
        this.value,
      ),
      this.age,
      this.state,
    );
  }

  show(pod: Pod, metric: number, most: number, target: number | null): void {
    const value = pod.values[metric] ?? null;
    setText(this.name, pod.name);
    setText(this.value, value === null ? "missing" : amount(value));
    setClass(this.value, "bad", value === null);
    this.bar.style.width = `${most > 0 ? (100 * (value ?? 0)) / most : 0}%`;
    setClass(this.bar, "over", target !== null && value !== null && value > target);
    this.mark.hidden = target === null;
    if (target !== null) this.mark.style.left = `${(100 * target) / most}%`;
    setText(this.age, pod.age === null ? "not heard" : ago(pod.age));
    setText(this.state, pod.state);
  }
}

export class WorkloadPage {
  private workload: Workload | null = null;
  private history: WholeHistory | null = null;
  private metric: number | null = null;
  private pods: Pod[] = [];

  private readonly problem = el("p", { class: "problem", role: "status", hidden: true });
  private readonly tiles = el("dl", { class: "tiles" });
  private readonly plotBox = el("div", { class: "loadplot", "aria-hidden": "true" });
  private readonly plotText = el("p", { class: "hint" });
  private readonly plot: LoadPlot;
  private readonly hpas = el("div");
  private hpasText = "";
  private readonly metricChoice: HTMLSelectElement;
  private readonly body = el("tbody");
  private readonly lines: PodLine[] = [];
  private readonly sorting: Sorting<Pod>;
  private readonly pager: Pager;
  private readonly live: Live;
  private readonly timer: number;
  private readonly gone = new AbortController();

  constructor(
    frame: Frame,
    private readonly ns: string,
    private readonly name: string,
  ) {
    const value = (pod: Pod) => pod.values[this.metric ?? 0] ?? -1;
    const columns: Column<Pod>[] = [
      { title: "Pod", key: (pod) => pod.name },
      { title: "in flight", key: value, className: "bars" },
      { title: "last heard", key: (pod) => pod.age ?? 1e12, className: "number" },
      { title: "state", key: (pod) => pod.state },
    ];
    this.sorting = new Sorting(columns, () => this.showPods());
    this.pager = new Pager("pods", () => this.showPods());
    this.metricChoice = el(
      "select",
      { "aria-label": "Metric", change: () => this.choose(Number(this.metricChoice.value)) },
      ...METRIC_WORDS.map((word, index) => el("option", { value: index }, word)),
    );
    frame.content.append(
      el("p", { class: "back" }, el("a", { href: "#/" }, "All workloads")),
      el("h1", {}, name, el("span", { class: "ns" }, ns)),
      this.problem,
      this.tiles,
      el(
        "section",
        { "aria-labelledby": "load-title" },
        el("div", { class: "toolbar" }, el("h2", { id: "load-title" }, "In flight, last 15 minutes"), this.metricChoice),
        this.plotBox,
        this.plotText,
      ),
      el("section", { "aria-labelledby": "hpa-title" }, el("h2", { id: "hpa-title" }, "Autoscaler"), this.hpas),
      el(
        "section",
        { "aria-labelledby": "pods-title" },
        el("div", { class: "toolbar" }, el("h2", { id: "pods-title" }, "Pods"), this.pager.element),
        el(
          "div",
          { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table of pods" },
          el("table", { class: "pods" }, this.sorting.head, this.body),
        ),
      ),
    );
    this.plot = new LoadPlot(this.plotBox);
    this.live = new Live(
      path("events", ns, name),
      { workload: (data) => this.take(JSON.parse(data) as Workload) },
      (state) => frame.setLink(state),
    );
    this.timer = window.setInterval(() => void this.loadHistory(), HISTORY_MS);
    void this.loadHistory();
  }

  close(): void {
    this.live.close();
    this.gone.abort();
    window.clearInterval(this.timer);
    this.plot.destroy();
  }

  redraw(): void {
    this.plot.redraw();
  }

  private choose(metric: number): void {
    this.metric = metric;
    this.metricChoice.value = String(metric);
    this.showPlot();
    this.showPods();
  }

  private take(workload: Workload): void {
    this.workload = workload;
    if (this.metric === null) {
      this.choose(usualMetric(workload));
    }
    const unknown = "No pods of this workload are known now. ";
    setText(this.problem, (workload.known ? "" : unknown) + workload.problem);
    this.problem.hidden = workload.known && workload.problem === "";
    this.showTiles(workload);
    this.showHpas(workload);
    this.showPods();
  }

  private showTiles(workload: Workload): void {
    const [all, missing, stale] = workload.counts;
    const tiles: [string, string][] = METRIC_TITLES.map((title, index) => {
      const value = workload.values[index] ?? null;
      return [title, value === null && all > 0 ? "missing" : amount(value)];
    });
    tiles.push(["pods heard", `${amount(all - missing)} of ${amount(all)}`]);
    tiles.push(["stale", amount(stale)]);
    if (workload.replicas !== null) {
      tiles.push(["replicas ready", `${amount(workload.replicas[1])} of ${amount(workload.replicas[0])}`]);
    }
    while (this.tiles.children.length > tiles.length) this.tiles.lastElementChild?.remove();
    while (this.tiles.children.length < tiles.length) this.tiles.append(el("div", {}, el("dt"), el("dd")));
    tiles.forEach(([title, value], index) => {
      const [dt, dd] = Array.from(this.tiles.children[index]?.children ?? []);
      if (dt) setText(dt, title);
      if (dd) setText(dd, value);
    });
  }

  private showHpas(workload: Workload): void {
    // Made anew only when something of it changed, so that a reader keeps their place.
    const text = JSON.stringify([workload.hpas, workload.noHpas]);
    if (text === this.hpasText) return;
    this.hpasText = text;
    if (workload.hpas.length > 0) {
      this.hpas.replaceChildren(...workload.hpas.map((hpa) => this.hpaCard(hpa, workload.at)));
    } else {
      const why = workload.noHpas === "" ? "No HPA scales this workload." : `Not known: ${workload.noHpas}.`;
      this.hpas.replaceChildren(el("p", { class: "hint" }, why));
    }
  }

  private hpaCard(hpa: Workload["hpas"][number], now: number): HTMLElement {
    const change = hpa.changed === null ? "never" : `${new Date(hpa.changed).toLocaleString("en-GB")}`;
    const older = hpa.changed === null ? "" : ` (${ago(now - hpa.changed)} ago)`;
    const card = el(
      "article",
      { class: "card" },
      el("h3", {}, `HPA ${hpa.name}`),
      el(
        "dl",
        { class: "facts-list" },
        ...pair("replicas", `${hpa.current} now, ${hpa.desired} wanted, ${hpa.min} to ${hpa.max} allowed`),
        ...pair("last change", change + older),
        ...pair("steps ahead", AHEAD[hpa.ahead][1]),
        ...hpa.targets.flatMap((target) =>
          pair("target", `${target.title}: ${amount(target.target)}${unitOf(target)}`),
        ),
      ),
    );
    if (hpa.fault !== "") card.append(el("p", { class: "problem" }, `This HPA cannot be read: ${hpa.fault}`));
    card.append(hpa.explanation === null ? unseen(hpa.targets) : explain(hpa.explanation));
    if (hpa.conditions.length > 0) card.append(conditions(hpa.conditions));
    return card;
  }

  private showPlot(): void {
    const workload = this.history?.workloads[0];
    if (this.history === null || workload === undefined || this.metric === null) return;
    const target = perPodTarget(this.workload, this.metric);
    const load = workload.values[this.metric] ?? [];
    const limit = workload.pods.map((pods) => (target === null || pods === null ? null : pods * target.target));
    this.plot.set(this.history.at, this.history.step, load, limit);
    const known = load.filter((point) => point !== null);
    const range =
      known.length === 0
        ? "Nothing is known of these 15 minutes."
        : `From ${amount(Math.min(...known))} to ${amount(Math.max(...known))} in flight over all pods.`;
    setText(
      this.plotText,
      target === null ? range : `${range} The dashed line is the target of ${amount(target.target)} times the pods.`,
    );
  }

  private showPods(): void {
    if (this.workload === null || this.metric === null) return;
    const metric = this.metric;
    const pods = [...this.workload.pods];
    this.sorting.sort(pods);
    this.pods = this.pager.slice(pods, "pod");
    const target = perPodTarget(this.workload, metric)?.target ?? null;
    const most = Math.max(target ?? 0, ...this.workload.pods.map((pod) => pod.values[metric] ?? 0), 1e-9);
    while (this.lines.length < this.pods.length) this.lines.push(new PodLine());
    this.pods.forEach((pod, index) => this.lines[index]?.show(pod, metric, most, target));
    if (this.body.children.length !== this.pods.length) {
      this.body.replaceChildren(...this.lines.slice(0, this.pods.length).map((line) => line.element));
    }
  }

  private async loadHistory(): Promise<void> {
    if (document.hidden) return;
    const history = await fetchJson<WholeHistory>(path("history", "all", this.ns, this.name), this.gone.signal);
    if (history === null) return;
    this.history = history;
    this.showPlot();
  }
}

function pair(term: string, text: string): HTMLElement[] {
  return [el("dt", {}, term), el("dd", {}, text)];
}

function unitOf(target: Target): string {
  if (target.type === "Utilization") return " % of the requests";
  return target.type === "AverageValue" ? " for each pod" : " in all";
}

function unseen(targets: Target[]): HTMLElement {
  const titles = targets.map((target) => target.title).join(", ");
  return el(
    "p",
    { class: "hint" },
    `This page sees none of its metrics (${titles}); activescale explain asks the metrics APIs for them.`,
  );
}

function explain(told: Explanation): HTMLElement {
  const move =
    told.replicas === told.from
      ? `The next sync keeps ${plural(told.from, "replica")}`
      : `The next sync goes from ${told.from} to ${plural(told.replicas, "replica")}`;
  const sure = told.certain ? "" : ", as far as this page can see";
  const box = el("div", { class: "explanation" }, el("p", { class: "verdict" }, `${move}${sure}: ${told.why}.`));
  const metrics = el("ul");
  for (const metric of told.metrics) {
    const how = metric.error ?? metric.how ?? "";
    const proposes = metric.proposes === undefined ? "" : ` It proposes ${amount(metric.proposes)}.`;
    metrics.append(el("li", {}, el("b", {}, metric.title), `: ${how}.${proposes}`));
  }
  for (const title of told.unseen) {
    metrics.append(
      el("li", {}, el("b", {}, title), ": not seen by this page; activescale explain asks the metrics APIs for it."),
    );
  }
  box.append(metrics);
  if (told.notes.length > 0) box.append(el("ul", { class: "notes" }, ...told.notes.map((note) => el("li", {}, note))));
  return box;
}

function conditions(list: Workload["hpas"][number]["conditions"]): HTMLElement {
  const head = ["condition", "status", "reason", "message", "since"];
  return el(
    "table",
    { class: "conditions" },
    el("thead", {}, el("tr", {}, ...head.map((title) => el("th", { scope: "col" }, title)))),
    el(
      "tbody",
      {},
      ...list.map((condition) =>
        el(
          "tr",
          { class: condition.type !== "ScalingLimited" && condition.status !== "True" ? "bad" : "" },
          el("th", { scope: "row" }, condition.type),
          el("td", {}, condition.status),
          el("td", {}, condition.reason),
          el("td", {}, condition.message),
          el("td", {}, condition.since),
        ),
      ),
    ),
  );
}

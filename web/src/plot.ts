// Plots of the last 15 minutes, by uPlot.

import uPlot from "uplot";
import { color } from "./theme";

type Points = (number | null)[];

/** Times in seconds of points that end at `at`. */
function times(at: number, step: number, count: number): number[] {
  const end = at / 1000;
  return Array.from({ length: count }, (_, i) => end - (count - 1 - i) * step);
}

/** A line without axes, for a cell of a table. */
export class Sparkline {
  private readonly plot: uPlot;

  constructor(parent: HTMLElement, width: number, height: number) {
    this.plot = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { show: false },
        select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        padding: [2, 2, 2, 2],
        axes: [{ show: false }, { show: false }],
        scales: { x: { time: false }, y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1)] } },
        series: [
          {},
          {
            stroke: () => color("--plot"),
            fill: () => color("--plot-fill"),
            width: 1.25,
            points: { show: false },
            spanGaps: false,
          },
        ],
      },
      [[], []],
      parent,
    );
  }

  set(at: number, step: number, points: Points): void {
    this.plot.setData([times(at, step, points.length), points]);
  }

  redraw(): void {
    this.plot.redraw(false);
  }
}

/** In-flight work against what the target allows, with axes. */
export class LoadPlot {
  private readonly plot: uPlot;
  private readonly observer: ResizeObserver;

  constructor(parent: HTMLElement) {
    const axis: uPlot.Axis = {
      stroke: () => color("--faint"),
      grid: { stroke: () => color("--grid"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    this.plot = new uPlot(
      {
        width: Math.max(parent.clientWidth, 200),
        height: 240,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        axes: [
          {
            ...axis,
            size: 30,
            values: (_plot, ticks) =>
              ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString("en-GB").slice(0, 5)),
          },
          { ...axis, size: 56 },
        ],
        scales: {
          x: { time: true },
          y: { range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.08, 1)] },
        },
        series: [
          {},
          {
            stroke: () => color("--plot"),
            fill: () => color("--plot-fill"),
            width: 1.5,
            points: { show: false },
          },
          {
            stroke: () => color("--limit"),
            width: 1.5,
            dash: [6, 4],
            points: { show: false },
            ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: -1 }) } : {}),
          },
        ],
      },
      [[], [], []],
      parent,
    );
    this.observer = new ResizeObserver(() => {
      this.plot.setSize({ width: Math.max(parent.clientWidth, 200), height: 240 });
    });
    this.observer.observe(parent);
  }

  set(at: number, step: number, load: Points, limit: Points): void {
    this.plot.setData([times(at, step, load.length), load, limit]);
  }

  redraw(): void {
    this.plot.redraw(false);
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot.destroy();
  }
}

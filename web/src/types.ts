// The documents that the server sends; src/insight/overview.h and workload_page.h write them.

export const METRICS = [
  "inbound_active_requests",
  "outbound_active_requests",
  "active_connections",
] as const;
export const METRIC_TITLES = ["requests in", "requests out", "connections open"] as const;
export const METRIC_WORDS = ["inbound", "outbound", "connections"] as const;

/** What an HPA gets of steps ahead of its controller: the mark, and what it means. */
export const AHEAD = {
  off: ["", "off"],
  observe: ["⇡ observed", "observed only: Events tell which steps would have been taken"],
  on: ["⇡ ahead", "on: scaled up at the push, ahead of the controller"],
  broken: ["⇡ broken", "broken: two steps were undone, so none is taken for five minutes"],
} as const;

/** By metric; null where nothing is known, which is not 0. */
export type PerMetric<T> = [T, T, T];
/** Milliseconds since 1970. */
export type Moment = number;

export interface Target {
  title: string;
  metric: string;
  perPod: boolean;
  type: "Value" | "AverageValue" | "Utilization";
  target: number;
}

export interface Hpa {
  name: string;
  fault: string;
  min: number;
  max: number;
  current: number;
  desired: number;
  changed: Moment | null;
  ahead: keyof typeof AHEAD;
  targets: Target[];
}

export interface Row {
  ns: string;
  name: string;
  values: PerMetric<number | null>;
  spread: PerMetric<[number, number] | null>;
  /** All, missing, stale. */
  pods: [number, number, number];
  /** Whether it pushed in the last 15 minutes. */
  heard: boolean;
  hpa: (Hpa & { count: number }) | null;
  /** Of the Deployment: asked for, ready. */
  replicas: [number, number] | null;
}

export interface Check {
  name: string;
  ok: boolean;
  reason: string;
}

export interface Facts {
  version: string;
  podsFrom: string;
  noHpas: string;
}

export interface Overview {
  at: Moment;
  facts: Facts;
  streams: [string, number][];
  checks: Check[];
  problem: string;
  rows: Row[];
}

/** What differs from the one before; rows have their names and the members that changed. */
export type Change = Partial<Omit<Overview, "rows">> & {
  at: Moment;
  rows: (Partial<Row> & Pick<Row, "ns" | "name">)[];
  gone: [string, string][];
};

export interface Pod {
  name: string;
  values: PerMetric<number | null>;
  /** Milliseconds since anything came of it; null: missing. */
  age: number | null;
  state: string;
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  since: string;
}

export interface Explanation {
  from: number;
  replicas: number;
  certain: boolean;
  why: string;
  metrics: { title: string; how?: string; error?: string; proposes?: number }[];
  notes: string[];
  unseen: string[];
}

export interface Workload {
  at: Moment;
  ns: string;
  name: string;
  known: boolean;
  problem: string;
  noHpas: string;
  values: PerMetric<number | null>;
  spread: PerMetric<[number, number] | null>;
  counts: [number, number, number];
  replicas: [number, number] | null;
  pods: Pod[];
  hpas: (Hpa & { conditions: Condition[]; explanation: Explanation | null })[];
}

export interface History {
  at: Moment;
  /** Seconds between two points. */
  step: number;
  workloads: {
    ns: string;
    name: string;
    values: (number | null)[];
  }[];
}

export interface WholeHistory {
  at: Moment;
  step: number;
  workloads: {
    ns: string;
    name: string;
    values: PerMetric<(number | null)[]>;
    pods: (number | null)[];
  }[];
}

// A connection of server-sent events that comes back by itself, and rests while the page is hidden:
// a browser has only a few connections to one server.

export type LinkState = "connecting" | "live" | "broken";

export class Live {
  private source: EventSource | null = null;
  private retry = 0;
  private readonly onVisibility = () => this.update();

  constructor(
    private readonly path: string,
    private readonly listeners: Record<string, (data: string) => void>,
    private readonly onState: (state: LinkState) => void,
  ) {
    document.addEventListener("visibilitychange", this.onVisibility);
    this.update();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.disconnect();
  }

  private update(): void {
    if (document.hidden) {
      this.disconnect();
    } else if (this.source === null) {
      this.connect();
    }
  }

  private connect(): void {
    this.onState("connecting");
    const source = new EventSource(this.path);
    this.source = source;
    for (const [name, listener] of Object.entries(this.listeners)) {
      source.addEventListener(name, (event) => {
        this.onState("live");
        listener((event as MessageEvent<string>).data);
      });
    }
    source.addEventListener("error", () => {
      this.onState("broken");
      // A refusal ends an EventSource for good; a lost connection it repeats itself.
      if (source.readyState !== EventSource.CLOSED) return;
      this.disconnect();
      this.retry = window.setTimeout(() => this.update(), 3_000);
    });
  }

  private disconnect(): void {
    window.clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}

/** "/events/shop/web" of its parts, which may hold anything. */
export function path(...parts: string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

export async function fetchJson<T>(url: string, signal: AbortSignal): Promise<T | null> {
  try {
    const answer = await fetch(url, { signal });
    return answer.ok ? ((await answer.json()) as T) : null;
  } catch {
    return null; // the state of the link tells
  }
}

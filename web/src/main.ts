// The page: a frame with the state of the connection, and in it the overview or one workload.

import { setText } from "./dom";
import type { LinkState } from "./live";
import { OverviewPage } from "./overview";
import { initTheme } from "./theme";
import type { Facts } from "./types";
import { WorkloadPage } from "./workload";

/** What a view may do to the frame. */
export interface Frame {
  content: HTMLElement;
  setLink(state: LinkState): void;
  setFacts(facts: Facts): void;
}

interface View {
  redraw(): void;
  close(): void;
}

function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as T;
}

const link = byId("link");
const facts = byId("facts");
const frame: Frame = {
  content: byId("content"),
  setLink(state) {
    const words = { connecting: "connecting", live: "live", broken: "no connection" };
    link.dataset["state"] = state;
    setText(link, words[state]);
  },
  setFacts(told) {
    setText(facts, `version ${told.version}, pods from ${told.podsFrom}`);
  },
};

let view: View | null = null;

/** "#/w/NS/NAME" is a workload, all else the overview. */
function route(): void {
  view?.close();
  frame.content.replaceChildren();
  const parts = location.hash.split("/");
  if (parts[1] === "w" && parts.length === 4) {
    const [ns, name] = [decode(parts[2]), decode(parts[3])];
    document.title = `${name} – Activescale`;
    view = new WorkloadPage(frame, ns, name);
  } else {
    document.title = "Activescale";
    view = new OverviewPage(frame);
  }
}

function decode(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? "");
  } catch {
    return part ?? ""; // somebody typed it
  }
}

window.addEventListener("hashchange", () => {
  route();
  frame.content.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
initTheme(byId<HTMLButtonElement>("theme"), () => view?.redraw());
route();

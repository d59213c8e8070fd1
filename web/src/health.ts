// Health checks with their reasons. The one part that a screen reader tells by itself.

import { el, setText } from "./dom";
import type { Check } from "./types";

export class Health {
  readonly element: HTMLElement;
  private readonly summary = el("p", { class: "summary", "aria-live": "polite" });
  private readonly list = el("ul", { class: "checks" });

  constructor() {
    this.element = el(
      "section",
      { "aria-label": "Health of this replica", class: "health" },
      this.summary,
      this.list,
    );
  }

  set(checks: Check[]): void {
    const failed = checks.filter((check) => !check.ok);
    // Only a change of what fails is told; reasons hold numbers that move.
    setText(
      this.summary,
      failed.length === 0
        ? "All checks pass"
        : `Failing: ${failed.map((check) => check.name).join(", ")}`,
    );
    this.element.classList.toggle("failing", failed.length > 0);
    while (this.list.children.length > checks.length) this.list.lastElementChild?.remove();
    checks.forEach((check, index) => {
      let item = this.list.children[index];
      if (item === undefined) {
        item = el("li", {}, el("span", { class: "mark", "aria-hidden": "true" }), el("span"), el("span"));
        this.list.append(item);
      }
      const [mark, name, reason] = Array.from(item.children) as [Element, Element, Element];
      item.className = check.ok ? "ok" : "failed";
      setText(mark, check.ok ? "✓" : "✗");
      setText(name, check.name + (check.ok ? "" : " failed"));
      setText(reason, check.reason);
    });
  }
}

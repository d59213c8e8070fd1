// Elements are made by name and filled as text: what a server sends never becomes markup.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

/** An element with attributes (functions become listeners) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else if (typeof value === "boolean") {
      element.toggleAttribute(name, value);
    } else {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children);
  return element;
}

/** Sets the text if it is another one: writing the same would cost a layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, name: string, on: boolean): void {
  if (element.classList.contains(name) !== on) element.classList.toggle(name, on);
}

const amounts = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** "3", "2.5", "1,204"; "–" for what is not known. */
export function amount(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : amounts.format(value);
}

export function ago(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

export function clockTime(moment: number): string {
  return new Date(moment).toLocaleTimeString("en-GB");
}

export function plural(count: number, one: string, many = one + "s"): string {
  return `${amount(count)} ${count === 1 ? one : many}`;
}

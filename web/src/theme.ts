// Light, dark, or as the system has it.

const CHOICES = ["auto", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];
const KEY = "activescale-theme";

function stored(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return CHOICES.find((choice) => choice === value) ?? "auto";
  } catch {
    return "auto"; // storage is forbidden
  }
}

function apply(choice: Choice): void {
  if (choice === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
}

/** Makes the button go through the choices; `redraw` runs when colors changed. */
export function initTheme(button: HTMLButtonElement, redraw: () => void): void {
  let choice = stored();
  const show = () => {
    apply(choice);
    button.textContent = `Theme: ${choice}`;
    redraw();
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "auto";
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // It holds for this page alone.
    }
    show();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  show();
}

/** The value of a custom property, for what is painted on a canvas. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

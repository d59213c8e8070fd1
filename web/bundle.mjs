// Bundles src/ with esbuild and writes the files of the page as a C++ source.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { build } from "esbuild";

const output = process.argv[2];

const bundled = await build({
  entryPoints: [
    { in: "src/main.ts", out: "app" },
    { in: "src/app.css", out: "style" },
  ],
  outdir: "out", // never written
  write: false,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
});

const text = (suffix) => bundled.outputFiles.find((file) => file.path.endsWith(suffix)).text;
const files = [
  ["/", "text/html; charset=utf-8", readFileSync("src/index.html", "utf8")],
  ["/app.js", "text/javascript; charset=utf-8", text("app.js")],
  ["/style.css", "text/css; charset=utf-8", text("style.css")],
  ["/icon.svg", "image/svg+xml", readFileSync("src/icon.svg", "utf8")],
];

// A raw string ends at its delimiter only, which no file has.
const delimiter = "PAGE_FILE";
const literal = (body) => {
  if (body.includes(`)${delimiter}"`)) throw new Error("a file holds the delimiter of its literal");
  return `R"${delimiter}(${body})${delimiter}"`;
};
const entries = files.map(
  ([path, type, body]) =>
    `    {${JSON.stringify(path)}, ${JSON.stringify(type)}, ${literal(body)}},\n`,
);
const source = `// Made of web/ by web/bundle.mjs.
#include <array>

#include "app/dashboard.h"

namespace activescale::app {

std::span<const insight::PageFile> PageFiles() {
  static constexpr std::array<insight::PageFile, ${files.length}> kFiles = {{
${entries.join("")}  }};
  return kFiles;
}

}  // namespace activescale::app
`;
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, source);

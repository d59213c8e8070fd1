#include "sim/html_page.h"

#include <fmt/format.h>

namespace activescale::sim {
namespace {

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5b6675; --line: #d8dde5; --page: #fbfcfd;
  --c0: #2563c9; --c1: #c2410c; --c2: #15803d; --c3: #7e22ce; --c4: #b91c5c; --c5: #0e7490; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --dim: #9aa5b4; --line: #343c48;
  --page: #12161c; --c0: #6aa1ff; --c1: #fb923c; --c2: #4ade80; --c3: #c084fc; --c4: #f472b6;
  --c5: #22d3ee; } }
body { margin: 0 auto; max-width: 960px; padding: 1.5rem 1rem 3rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { color: var(--dim); margin: 0 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { width: 100%; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; }
.wide th, .wide td { border-bottom: 1px solid var(--line); }
.wide th:first-child, .wide td:first-child { text-align: left; }
pre { overflow-x: auto; font-size: .85rem; }
.plot { display: grid; grid-template-columns: 2.6rem 1fr; grid-template-rows: 11rem auto;
  gap: .3rem .5rem; font-size: .75rem; color: var(--dim); }
.plot .y { display: flex; flex-direction: column-reverse; justify-content: space-between;
  text-align: right; line-height: 1rem; margin: -.5rem 0; }
.plot .x { grid-column: 2; display: flex; justify-content: space-between; }
svg { width: 100%; height: 100%; display: block; overflow: visible; }
.grid, .curve { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; } .curve { fill: none; stroke-linejoin: round; }
.key { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; font-size: .9rem; color: var(--dim);
  margin: .4rem 0 0 3.1rem; }
.key i { display: inline-block; width: 1.3rem; margin: 0 .4rem .25rem 0; border-top: 3px solid; }
.key i.dash { border-top-style: dashed; }
.dash { stroke-dasharray: 5 4; }
@media (max-width: 600px) { body { font-size: 14px; } th, td { padding: .3rem .35rem; }
  .wide th, .wide td:first-child { white-space: normal; overflow-wrap: anywhere; } }
</style>)";

}  // namespace

std::string HtmlEscape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string HtmlHead(std::string_view title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n{}</head><body>\n",
      HtmlEscape(title), kStyle);
}

}  // namespace activescale::sim

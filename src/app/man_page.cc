#include "app/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <set>

namespace activescale::app {
namespace {

/// Takes one character of UTF-8 off the front of valid `text`.
char32_t TakeCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t out = size == 1 ? lead : lead & (0x7fU >> size);
  for (size_t i = 1; i < size && i < text.size(); ++i) {
    out = (out << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  text.remove_prefix(std::min(size, text.size()));
  return out;
}

/// Text that stands for itself: no escape, no control line, no character beyond ASCII.
/// Source: groff_char(7), man-pages(7): minus signs that are to be copied are written \-.
std::string Roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  while (!text.empty()) {
    const char32_t c = TakeCharacter(text);
    if (c == U'\\') {
      out += "\\e";
    } else if (c == U'-') {
      out += "\\-";
    } else if (c == U'\'') {
      out += "\\(aq";
    } else if (c == U'`') {
      out += "\\(ga";
    } else if (c == U'^') {
      out += "\\(ha";
    } else if (c == U'~') {
      out += "\\(ti";
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("\\[u{:04X}]", static_cast<uint32_t>(c));
    }
  }
  return out;
}

std::string Bold(std::string_view text) { return fmt::format("\\fB{}\\fR", Roff(text)); }
std::string Italic(std::string_view text) { return fmt::format("\\fI{}\\fR", Roff(text)); }

std::string FlagItem(const Flag& flag) {
  std::string head = flag.is_argument() ? Italic(flag.name) : Bold(flag.name);
  if (!flag.letter.empty()) head = fmt::format("{}, {}", Bold(flag.letter), head);
  if (!flag.is_argument() && !flag.kind.empty()) head += "=" + Italic(flag.ValueText());
  std::string text = fmt::format(".TP\n{}\n{}\n", head, Roff(flag.help));
  if (!flag.variable.empty()) text += fmt::format("Variable: {}.\n", Bold(flag.variable));
  if (!flag.initial.empty()) text += fmt::format("Default: {}.\n", Roff(flag.initial));
  return text;
}

std::string CommandSection(const Usage& usage) {
  std::string text = fmt::format(".SS {}\n.PP\n{}\n", usage.name, Bold(usage.Line()));
  text += fmt::format(".PP\n{}\n", Roff(usage.about));
  for (const std::string& group : usage.Groups()) {
    text += fmt::format(".PP\n{}\n", Italic(group + ":"));
    for (const Flag& flag : usage.flags) {
      if (flag.group == group) text += FlagItem(flag);
    }
  }
  return text;
}

std::string ValuesSection(const std::vector<Usage>& commands) {
  std::set<std::string> kinds;
  for (const Usage& usage : commands) {
    for (const Flag& flag : usage.flags) {
      if (flag.choices.empty() && !KindText(flag.kind).empty()) kinds.insert(flag.kind);
    }
  }
  std::string text = ".SH VALUES\n";
  for (const std::string& kind : kinds) {
    text += fmt::format(".TP\n{}\n{}\n", Italic(kind), Roff(KindText(kind)));
  }
  return text;
}

constexpr std::string_view kManHead = R"(.SH NAME
activescale \- scale Kubernetes workloads by what Envoys have in flight
.SH SYNOPSIS
\fBactivescale\fR \fICOMMAND\fR [\fIFLAGS\fR]
.PP
\fBactivescale\fR \fIFLAGS\fR
.SH DESCRIPTION
Envoy pushes the requests and connections that are open at this moment; \fBactivescale serve\fR serves
them per pod through the Custom Metrics API of Kubernetes, and HorizontalPodAutoscalers scale by them.
The other commands tell what an autoscaler would do, what it does and why, and why there is no metric.
.PP
Flags without a command are those of \fBserve\fR.
A flag is given as \fB\-\-name=value\fR or \fB\-\-name value\fR.
.SH COMMANDS
)";

constexpr std::string_view kTail = R"(.SH EXIT STATUS
.TP
0
It did what was asked; of \fBdoctor\fR: nothing is wrong.
.TP
1
It could not, or a port is taken or a certificate does not load; of \fBdoctor\fR: warnings.
.TP
2
Flags or settings cannot be used, and nothing was started; of \fBdoctor\fR: failures.
.TP
3
The shutdown of \fBserve\fR hung.
.SH ENVIRONMENT
The settings of \fBserve\fR have the variables that are named with them; a flag wins over its variable.
.TP
\fBKUBECONFIG\fR
Access to a cluster for \fBdoctor\fR, \fBtop\fR and \fBexplain\fR, where \-\-kubeconfig is not given.
.SH FILES
.TP
\fI\(ti/.kube/config\fR
Access to a cluster, where neither \-\-kubeconfig nor \fBKUBECONFIG\fR is given.
.SH EXAMPLES
.TP
\fBactivescale doctor \-\-hpa shop/web\fR
Why the HPA \fIweb\fR of the namespace \fIshop\fR has no metric.
.TP
\fBactivescale top \-\-once \-\-output json\fR
What each workload has in flight, once, for a program.
.TP
\fBactivescale simulate \-\-hpa hpa.yaml \-\-load tc1 \-\-plot\fR
What this HPA would do with a jump of the load.
.TP
\fBsource <(activescale completion bash)\fR
Completion of commands, flags and values in this shell.
.SH SEE ALSO
\fBkubectl\fR(1), \fBenvoy\fR(1)
)";

}  // namespace

std::string ManPage(const std::vector<Usage>& commands, std::string_view version) {
  std::vector<Usage> listed;
  for (const Usage& usage : commands) {
    if (!usage.summary.empty()) listed.push_back(usage);
  }
  std::string text =
      fmt::format(".TH ACTIVESCALE 1 \"\" \"activescale {}\" \"User Commands\"\n", version);
  text += kManHead;
  for (const Usage& usage : listed) text += CommandSection(usage);
  text += ValuesSection(listed);
  return text + std::string(kTail);
}

}  // namespace activescale::app

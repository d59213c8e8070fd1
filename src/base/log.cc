#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <memory>
#include <string>

namespace activescale::base {
namespace {

constinit std::atomic<int> g_verbosity = 0;

// klog's header; the number is the thread's id, which of the main thread is the process's.
// Source: kubernetes/klog:internal/buffer/buffer.go, FormatHeader.
constexpr const char* kPattern = "%L%m%d %H:%M:%S.%f %7t %s:%#] %v";

spdlog::logger& Logger() {
  // Never destroyed, so that destructors of other statics can still log.
  static auto* const logger = [] {
    auto* made =
        new spdlog::logger("activescale", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(kPattern);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum Level(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      break;
  }
  return spdlog::level::err;
}

bool IsAsciiControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

// U+0080 to U+009F in UTF-8: terminals take some of them as the start of a command.
bool IsC1Control(std::string_view text, size_t i) {
  return text[i] == '\xc2' && i + 1 < text.size() &&
         (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
}

std::string EscapeControls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (IsAsciiControl(c)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", c);
    } else if (IsC1Control(text, i)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void Log(Severity severity, std::string_view file, int line, std::string_view message) {
  const std::string path(file);
  Logger().log(spdlog::source_loc(path.c_str(), line, ""), Level(severity),
               spdlog::string_view_t(EscapeControls(message)));
}

void SetVerbosity(int level) { g_verbosity.store(level, std::memory_order_relaxed); }

bool VerbosityAtLeast(int level) { return g_verbosity.load(std::memory_order_relaxed) >= level; }

}  // namespace activescale::base

#pragma once

#include <fmt/format.h>

#include <string_view>

namespace activescale::base {

enum class Severity : char { kInfo = 'I', kWarning = 'W', kError = 'E' };

/// Writes one line to stderr in klog's form: `I1130 10:15:02.123456    1 file.cc:42] message`.
/// Line breaks and control characters in `message` are escaped, so that input cannot forge lines.
/// Threads: any. Use the macros below.
void Log(Severity severity, std::string_view file, int line, std::string_view message);

/// The level up to which VLOG lines are written (klog's -v); 0 by default. Threads: any.
void SetVerbosity(int level);
[[nodiscard]] bool VerbosityAtLeast(int level);

}  // namespace activescale::base

#define AS_LOG(severity, ...)                                                           \
  ::activescale::base::Log(::activescale::base::Severity::severity, __FILE__, __LINE__, \
                           ::fmt::format(__VA_ARGS__))
#define LOG_INFO(...) AS_LOG(kInfo, __VA_ARGS__)
#define LOG_WARNING(...) AS_LOG(kWarning, __VA_ARGS__)
#define LOG_ERROR(...) AS_LOG(kError, __VA_ARGS__)
/// A debug line; costs one relaxed load when off, its arguments are not evaluated then.
#define VLOG(level, ...)                                \
  do {                                                  \
    if (::activescale::base::VerbosityAtLeast(level)) { \
      AS_LOG(kInfo, __VA_ARGS__);                       \
    }                                                   \
  } while (false)

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "app/program.h"

int main(int argc, char** argv) {
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    // Nobody changes the environment, so reading it is safe beside threads.
    const char* value = std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return activescale::app::RunProgram({argv + (argc > 0 ? 1 : 0), argv + argc}, environment);
}

#include "app/sim_flags.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "app/program.h"
#include "base/duration.h"

namespace activescale::app {
namespace {

base::Error FileError(std::string_view verb, const std::string& path) {
  return {base::Code::kUnavailable,
          fmt::format("cannot {} {}: {}", verb, path, std::generic_category().message(errno))};
}

}  // namespace

base::Result<double> Seconds(const std::string& flag, const std::string& text) {
  const auto parsed = base::ParseDuration(text);
  if (!parsed) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("--{}: {}", flag, parsed.error().message));
  }
  return std::chrono::duration<double>(*parsed).count();
}

void ServiceFlags::AddTo(CLI::App& app) {
  const std::string group = "Service";
  app.add_option("--latency", latency, "mean time that a request is worked on")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_option("--latency-spread", latency_spread,
                 "standard deviation over mean of the work time, log-normal; 0: constant")
      ->check(CLI::Range(0.0, 10.0))
      ->group(group);
  app.add_option("--workers", workers, "requests that a pod works on at once; 0: no limit")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
  app.add_option("--queue-limit", queue_limit, "requests that wait at most, all pods; 0: no limit")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->group(group);
  const auto add_duration = [&](const char* name, std::string& value, const char* help) {
    app.add_option(name, value, help)->type_name("DURATION")->capture_default_str()->group(group);
  };
  add_duration("--start", start, "from a pod's creation until it is Ready");
  add_duration("--start-spread", start_spread, "uniform spread of --start, plus or minus");
  add_duration("--warmup", warmup, "from Ready until a pod takes load");
  add_duration("--terminating", terminating, "from a pod's deletion until it is gone");
}

base::Result<sim::ServiceModel> ServiceFlags::Read() const {
  sim::ServiceModel model{
      .latency_spread = latency_spread, .workers = workers, .queue_limit = queue_limit};
  const std::pair<const char*, std::pair<const std::string*, double*>> durations[] = {
      {"latency", {&latency, &model.latency}},
      {"start", {&start, &model.start}},
      {"start-spread", {&start_spread, &model.start_spread}},
      {"warmup", {&warmup, &model.warmup}},
      {"terminating", {&terminating, &model.terminating}}};
  for (const auto& [flag, value] : durations) {
    const auto seconds = Seconds(flag, *value.first);
    if (!seconds) return std::unexpected(seconds.error());
    *value.second = *seconds;
  }
  return model;
}

std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> arguments) {
  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::fputs(app.help().c_str(), stdout);
      return kExitOk;
    }
    return Refuse(app, error.what());
  }
  return std::nullopt;
}

int Refuse(const CLI::App& app, const std::string& message) {
  fmt::print(stderr, "activescale {}: {}\n", app.get_name(), message);
  return kExitBadConfiguration;
}

base::Result<std::string> ReadTextFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::unexpected(FileError("read", path));
  return std::move(text).str();
}

base::Result<void> WriteOutput(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  const std::string temporary = path + ".new";
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    base::Error error = FileError("write", path);
    std::remove(temporary.c_str());
    return std::unexpected(std::move(error));
  }
  return {};
}

}  // namespace activescale::app

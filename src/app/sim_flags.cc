#include "app/sim_flags.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "app/http_loop.h"
#include "app/program.h"
#include "app/recorded_queries.h"
#include "base/duration.h"
#include "base/file_text.h"
#include "sim/prometheus.h"

namespace activescale::app {
namespace {

base::Result<std::vector<sim::HistorySeries>> AskPrometheus(const std::vector<std::string>& urls) {
  HttpLoop loop;
  sim::RangeAnswers answers;
  for (const std::string& url : urls) {
    const auto answer = Await<base::Result<net::ClientResponse>>([&](auto done) {
      net::ClientRequest request;
      request.url = url;
      loop.http().Submit(std::move(request), std::move(done));
    });
    if (!answer) return std::unexpected(answer.error());
    if (auto added = answers.Add(answer->status, answer->body); !added) {
      return std::unexpected(added.error());
    }
  }
  return std::move(answers).Take();
}

/// The same questions to the history in a folder.
base::Result<std::vector<sim::HistorySeries>> AskRecorded(const std::string& folder,
                                                          const std::vector<std::string>& urls) {
  RecordedQueries recorded(folder);
  sim::RangeAnswers answers;
  for (const std::string& url : urls) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = url.substr(url.find('/', std::string_view("http://").size()));
    const net::HttpResponse answer = recorded.Answer(request);
    if (auto added = answers.Add(answer.status, answer.body); !added) {
      return std::unexpected(added.error());
    }
  }
  return std::move(answers).Take();
}

}  // namespace

base::Result<std::pair<std::string, std::string>> SplitName(const std::string& flag,
                                                            const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size() ||
      text.find('/', slash + 1) != std::string::npos) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("--{} is NAMESPACE/NAME, not \"{}\"", flag, text));
  }
  return std::pair(text.substr(0, slash), text.substr(slash + 1));
}

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

void HistoryFlags::AddTo(CLI::App& app) {
  const std::string group = "History";
  CLI::Option* const prometheus =
      app.add_option("--prometheus", url, "take the work from this Prometheus")->type_name("URL");
  app.add_option("--data-dir", data_dir, "take it from the history that serve --data-dir keeps")
      ->type_name("FOLDER")
      ->excludes(prometheus)
      ->group(group);
  prometheus->group(group);
  app.add_option("--query", query, "what to ask for; series are added up")->group(group);
  app.add_option("--history", history, "how far back")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_option("--resolution", resolution, "between two points of the answer")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
}

base::Result<std::vector<sim::HistorySeries>> HistoryFlags::Ask(const std::string& asked,
                                                                base::WallTime now) const {
  const auto span = Seconds("history", history);
  if (!span) return std::unexpected(span.error());
  const auto step = Seconds("resolution", resolution);
  if (!step) return std::unexpected(step.error());
  if (*step < 1 || *span < *step) {
    return base::Fail(base::Code::kInvalidArgument,
                      "--resolution: at least 1s, and not above --history");
  }
  const int64_t end =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto urls = sim::RangeUrls({.url = data_dir.empty() ? url : "http://history",
                                    .query = asked,
                                    .start = end - static_cast<int64_t>(*span),
                                    .end = end,
                                    .step = static_cast<int64_t>(*step)});
  if (!urls) return std::unexpected(urls.error());
  return data_dir.empty() ? AskPrometheus(*urls) : AskRecorded(data_dir, *urls);
}

base::Result<sim::ManifestHpa> ReadManifestFile(const std::string& path) {
  const auto text = ReadTextFile(path);
  if (!text) return std::unexpected(text.error());
  auto manifest = sim::ReadManifest(*text);
  if (!manifest) {
    return base::Fail(manifest.error().code, fmt::format("{}: {}", path, manifest.error().message));
  }
  return manifest;
}

std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> arguments) {
  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::fputs(HelpText(UsageOf(app)).c_str(), stdout);
      return kExitOk;
    }
    return Finish(app, base::Fail(base::Code::kInvalidArgument, error.what()));
  }
  return std::nullopt;
}

int Finish(const CLI::App& app, const base::Result<void>& done) {
  if (done) return kExitOk;
  fmt::print(stderr, "activescale {}: {}\n", app.get_name(), done.error().message);
  return done.error().code == base::Code::kInvalidArgument ? kExitBadConfiguration : kExitFailure;
}

base::Result<std::string> ReadTextFile(const std::string& path) {
  auto text = base::ReadFile(path);
  if (!text) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("cannot read {}: {}", path, text.error().message()));
  }
  return *std::move(text);
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
    const std::string reason = std::generic_category().message(errno);
    std::remove(temporary.c_str());
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("cannot write {}: {}", path, reason));
  }
  return {};
}

}  // namespace activescale::app

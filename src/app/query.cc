#include "app/query.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "app/http_loop.h"
#include "app/program.h"
#include "app/recorded_queries.h"
#include "app/sim_flags.h"
#include "base/file_text.h"
#include "base/percent.h"
#include "net/http_client.h"
#include "queryapi/answer.h"

namespace activescale::app {
namespace {

constexpr size_t kPlotWidth = 60;
constexpr int kSteps = 60;  // of a range without a step

struct QueryFlags {
  std::string expression;
  std::string server = "http://127.0.0.1:9090";
  std::string range;
  std::string step;
  std::string output = "table";
  std::string token_file;
  std::string ca_file;
  bool insecure = false;
  bool partial = false;
  std::string data_dir;
};

void AddFlags(CLI::App& app, QueryFlags& f) {
  app.name("query");
  app.description("Asks a server of Prometheus's query API: Activescale or Prometheus itself.");
  app.add_option("expression", f.expression, "PromQL")->type_name("EXPR")->required();
  const std::string group = "Where to ask";
  CLI::Option* const server =
      app.add_option("--server", f.server, "what --query-address of a server says, with its prefix")
          ->type_name("URL")
          ->capture_default_str()
          ->group(group);
  app.add_option("--data-dir", f.data_dir,
                 "ask the history that serve --data-dir keeps in this folder, without a server")
      ->type_name("FOLDER")
      ->excludes(server)
      ->group(group);
  app.add_option("--range", f.range, "the values of the time until now, instead of one")
      ->type_name("DURATION");
  app.add_option("--step", f.step, "between two values of a range; by default a 60th of it")
      ->type_name("DURATION");
  app.add_option("--output", f.output, "form of the answer")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  app.add_option("--token-file", f.token_file, "file with the bearer token")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--ca-file", f.ca_file, "authorities of the server's certificate, PEM")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--insecure", f.insecure, "do not verify the server's certificate")->group(group);
  app.add_flag("--partial-window", f.partial, "take a value whose window was not recorded whole");
}

base::Result<net::ClientRequest> MakeRequest(const QueryFlags& f) {
  net::ClientRequest request{.method = "POST", .url = f.data_dir.empty() ? f.server : ""};
  while (request.url.ends_with('/')) request.url.pop_back();
  request.url += f.range.empty() ? "/api/v1/query" : "/api/v1/query_range";
  request.body = "query=" + base::PercentEncode(f.expression);
  if (f.partial) request.body += "&partial_window=serve";
  if (!f.range.empty()) {
    const auto range = Seconds("range", f.range);
    if (!range) return std::unexpected(range.error());
    const auto step =
        f.step.empty() ? base::Result<double>(*range / kSteps) : Seconds("step", f.step);
    if (!step) return std::unexpected(step.error());
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    request.body += fmt::format("&start={:.3f}&end={:.3f}&step={:.3f}", now - *range, now, *step);
  }
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  if (!f.token_file.empty()) {
    const auto token = base::ReadTokenFile(f.token_file);
    if (!token) {
      return base::Fail(base::Code::kInvalidArgument,
                        fmt::format("the token file {} cannot be read or is empty", f.token_file));
    }
    request.headers.emplace_back("Authorization", "Bearer " + *token);
  }
  request.tls = std::make_shared<const net::ClientTls>(
      net::ClientTls{.ca_file = f.ca_file, .insecure_skip_verify = f.insecure});
  return request;
}

/// The body of the answer to it, of a server or of the history in a folder.
base::Result<std::string> Ask(const std::string& data_dir, net::ClientRequest request) {
  if (!data_dir.empty()) {
    net::HttpRequest recorded;
    recorded.method = request.method;
    recorded.target = request.url;
    recorded.headers = std::move(request.headers);
    recorded.body = std::move(request.body);
    return RecordedQueries(data_dir).Answer(recorded).body;
  }
  HttpLoop loop;
  auto answer = Await<base::Result<net::ClientResponse>>(
      [&](auto done) { loop.http().Submit(std::move(request), std::move(done)); });
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(answer->body);
}

base::Result<void> Print(const QueryFlags& f, const std::string& body) {
  const auto answer = queryapi::ReadAnswer(body);
  if (!answer) return std::unexpected(answer.error());
  for (const std::string& warning : answer->warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  fmt::print("{}", f.output == "json"  ? body + "\n"
                   : f.output == "csv" ? queryapi::AnswerCsv(*answer)
                                       : queryapi::AnswerTable(*answer, kPlotWidth));
  return {};
}

}  // namespace

int RunQuery(std::span<const std::string> arguments, const Environment&) {
  CLI::App app;
  QueryFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  auto request = MakeRequest(flags);
  if (!request) return Finish(app, std::unexpected(request.error()));
  const auto body = Ask(flags.data_dir, *std::move(request));
  if (!body) {
    fmt::print(stderr, "activescale query: {}\n", body.error().message);
    return kExitFailure;
  }
  if (const auto printed = Print(flags, *body); !printed) {
    fmt::print(stderr, "activescale query: {}\n", printed.error().message);
    return kExitFailure;
  }
  return kExitOk;
}

Usage QueryUsage() { return UsageWith<QueryFlags>(AddFlags); }

}  // namespace activescale::app

// A replica's RedisStore as a process of its own, driven by lines on stdin, for tests that kill it.
// The connection is configured by REDIS_* as the product's is; the first argument is the TTL.
//
//   open ID NS/POD | write ID VALUE... | beat ID | close ID     VALUE: units, or - for absent
//   read TAG KIND NS/POD...   ->  read TAG ok|partial READING...   or   error TAG MESSAGE
//                                 READING: missing, zero, or milli-units@age in ms
//   check                     ->  check ok|failed REASON
//   pending                   ->  pending N
//   metrics                   ->  the exposition, then a line with a dot
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/duration.h"
#include "base/mutex.h"
#include "net/io_loop.h"
#include "redis/config.h"
#include "store/redis/redis_store.h"

namespace activescale::store {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

redis::Settings SettingsFromEnv() {
  return {.address = Env("REDIS_ADDR"),
          .cluster = Env("REDIS_CLUSTER") == "true",
          .user = Env("REDIS_USERNAME"),
          .password = Env("REDIS_PASSWORD"),
          .password_file = Env("REDIS_PASSWORD_FILE"),
          .tls = Env("REDIS_TLS") == "true",
          .tls_insecure = Env("REDIS_TLS_INSECURE") == "true",
          .ca_file = Env("REDIS_CA_FILE"),
          .cert_file = Env("REDIS_CERT_FILE"),
          .key_file = Env("REDIS_KEY_FILE"),
          .server_name = Env("REDIS_TLS_SERVER_NAME"),
          .sentinel_master = Env("REDIS_SENTINEL_MASTER"),
          .sentinel_user = Env("REDIS_SENTINEL_USERNAME"),
          .sentinel_password = Env("REDIS_SENTINEL_PASSWORD"),
          .sentinel_password_file = Env("REDIS_SENTINEL_PASSWORD_FILE")};
}

metric::PodKey ParsePod(const std::string& text) {
  const size_t slash = text.find('/');
  return {text.substr(0, slash), text.substr(slash + 1)};
}

class Shell {
 public:
  Shell(RedisStore& store, telemetry::Registry& registry, const base::Clock& clock)
      : store_(store), registry_(registry), clock_(clock) {}

  void Run(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::string id;
    words >> command;
    if (command == "check") {
      const telemetry::CheckResult check = store_.Check();
      return Print(fmt::format("check {} {}", check.ok ? "ok" : "failed", check.reason));
    }
    if (command == "pending") return Print(fmt::format("pending {}", store_.pending_writes()));
    if (command == "metrics") return Print(registry_.Render() + ".");
    words >> id;
    if (command == "open") {
      std::string pod;
      words >> pod;
      streams_[id] = store_.Open(ParsePod(pod));
    } else if (command == "write") {
      streams_.at(id)->Write(ParseFlush(words), clock_.Now());
    } else if (command == "beat") {
      streams_.at(id)->Heartbeat(clock_.Now());
    } else if (command == "close") {
      streams_.erase(id);
    } else if (command == "read") {
      Read(id, words);
    }
  }

 private:
  static Flush ParseFlush(std::istringstream& words) {
    Flush flush;
    std::string value;
    for (size_t i = 0; i < flush.values.size() && words >> value; ++i) {
      if (value != "-") flush.values[i] = metric::Quantity::FromMilli(std::stoll(value) * 1000);
    }
    return flush;
  }

  void Read(const std::string& tag, std::istringstream& words) {
    int kind = 0;
    words >> kind;
    std::vector<metric::PodKey> pods;
    for (std::string pod; words >> pod;) pods.push_back(ParsePod(pod));
    store_.Read(std::move(pods), static_cast<metric::MetricKind>(kind),
                [this, tag](const base::Result<ReadResult>& result) {
                  if (!result) return Print("error " + tag + " " + result.error().message);
                  std::string out = "read " + tag + (result->partial ? " partial" : " ok");
                  for (const PodReading& reading : result->readings) out += " " + Say(reading);
                  Print(out);
                });
  }

  std::string Say(const PodReading& reading) {
    if (reading.state == PodReading::State::kMissing) return "missing";
    if (reading.state == PodReading::State::kSynthesizedZero) return "zero";
    const auto age =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - reading.received);
    return fmt::format("{}@{}", reading.value.milli(), age.count());
  }

  void Print(const std::string& line) {
    base::MutexLock lock(print_mutex_);
    std::cout << line << '\n' << std::flush;
  }

  RedisStore& store_;
  telemetry::Registry& registry_;
  const base::Clock& clock_;
  base::Mutex print_mutex_;
  std::map<std::string, std::unique_ptr<PodStream>> streams_;
};

int Main(const std::string& ttl_text) {
  auto config = redis::MakeConfig(SettingsFromEnv());
  const auto ttl = base::ParseDuration(ttl_text);
  if (!config || !ttl) {
    std::cerr << (config ? ttl.error() : config.error()).message << '\n';
    return 2;
  }
  const base::SystemClock clock;
  telemetry::Registry registry;
  std::random_device random;
  const uint64_t seed = uint64_t{random()} << 32 | random();
  net::IoLoop loop;
  RedisStore store({.ttl = *ttl},
                   std::make_unique<redis::Client>(loop, clock, std::move(*config), seed), clock,
                   registry, seed);
  std::thread thread([&] { loop.Run(); });
  store.Start();
  {
    Shell shell(store, registry, clock);
    for (std::string line; std::getline(std::cin, line);) shell.Run(line);
  }
  loop.Stop();
  thread.join();
  return 0;
}

}  // namespace
}  // namespace activescale::store

int main(int argc, char** argv) { return activescale::store::Main(argc > 1 ? argv[1] : "20s"); }

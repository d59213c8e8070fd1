#pragma once

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"

namespace activescale::app {

/// One row of the table of settings: everything that flags, environment, file, help and
/// documentation need to know of it.
struct Setting {
  /// Why a text is not a value of the setting: "must be a port from 0 to 65535".
  using Assigned = std::expected<void, std::string>;

  std::string_view group;
  std::string_view name;  // the flag without dashes, and the key in the file
  std::string_view env;
  std::string_view unit;     // kind of value, for people: "duration", "port", "bytes"
  std::string_view initial;  // text of the default
  std::string_view help;
  std::function<Assigned(Config&, std::string_view)> assign;

  /// Given without a value: `--insecure-no-auth`.
  [[nodiscard]] bool is_switch() const { return unit == kSwitch; }
  /// Comma-separated; the flag may be repeated, the file may have a sequence.
  [[nodiscard]] bool is_list() const { return unit == kList; }

  static constexpr std::string_view kSwitch = "switch";
  static constexpr std::string_view kList = "list";
};

/// All settings of `serve`, by group. The only place that knows their names.
[[nodiscard]] std::span<const Setting> Settings();

/// A flag that other programs know and this one does not need: accepted with a warning, so that
/// manifests of the Go program and of Kubernetes components start as they are.
struct IgnoredFlag {
  std::string_view name;
  bool is_switch = false;
};
[[nodiscard]] std::span<const IgnoredFlag> IgnoredFlags();

/// What is wrong with a configuration although each setting alone is right.
[[nodiscard]] std::vector<std::string> CrossFaults(const Config& config);

/// Whether the pods are to come from kube-apiserver: then it also says who may read, and a cluster
/// that cannot be had is an error.
[[nodiscard]] bool ExpectsCluster(const Config& config);

/// The address to listen on: `chosen`, or, if that is empty, every address in a cluster and with
/// insecure-no-auth, else loopback.
[[nodiscard]] std::string BindAddress(const Config& config, std::string_view chosen);

}  // namespace activescale::app

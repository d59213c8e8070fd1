#include "kube/scaled_object_watch.h"

#include <fmt/format.h>

#include "base/log.h"

namespace activescale::kube {
namespace {

using base::Code;

constexpr std::string_view kPrefix = "/apis/keda.sh/v1alpha1";

WatchGroup::Resource ScaledObjects() {
  return {.name = "scaledobjects",
          .prefix = std::string(kPrefix),
          .field_selector = {},
          .metadata_only = false,
          .mask = {"spec.triggers", "spec.fallback", "spec.advanced.scalingModifiers"}};
}

base::Error NotAskedYet() {
  return {Code::kUnavailable, "the ScaledObjects of the cluster are not listed yet"};
}

/// What a failed question means to who wants a ScaledObject.
base::Error Explain(const base::Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return {Code::kNotFound, "the cluster has no ScaledObjects of keda.sh/v1alpha1"};
    case Code::kPermissionDenied:
      return {Code::kPermissionDenied,
              fmt::format("the right to list and watch scaledobjects of keda.sh is missing: {}",
                          error.message)};
    default:
      return {Code::kUnavailable,
              "the ScaledObjects of the cluster are not known: " + error.message};
  }
}

}  // namespace

ScaledObjectWatch::ScaledObjectWatch(const WatchGroup::Context& context,
                                     const std::vector<std::string>& namespaces, OnChange on_change,
                                     Options options)
    : context_(context),
      namespaces_(namespaces),
      on_change_(std::move(on_change)),
      options_(options),
      sink_([this](const boost::json::object& object) { OnObject(object); },
            [this](std::string_view ns, std::string_view name) { OnGone(ns, name); }),
      refused_(NotAskedYet()) {}

void ScaledObjectWatch::Start() { Ask(0); }

/// Watches once each namespace has answered.
void ScaledObjectWatch::Ask(size_t at) {
  const std::string ns = namespaces_.empty() ? "" : "/namespaces/" + namespaces_[at];
  context_.api.Send({.path = fmt::format("{}{}/scaledobjects?limit=1", kPrefix, ns)},
                    [this, at](const ApiResult<boost::json::object>& answer) {
                      if (!answer) return OnRefused(answer.error().error);
                      if (at + 1 < namespaces_.size()) return Ask(at + 1);
                      Watch();
                    });
}

void ScaledObjectWatch::OnRefused(const base::Error& error) {
  if (context_.api.http().stopped()) return;
  const bool answered = error.code == Code::kNotFound || error.code == Code::kPermissionDenied;
  const base::Error why = Explain(error);
  bool is_news = false;
  {
    const base::MutexLock lock(mutex_);
    is_news = refused_.code != why.code;
    refused_ = why;
  }
  if (is_news && why.code == Code::kPermissionDenied) {
    LOG_WARNING("no steps ahead for HPAs that KEDA made: {}", why.message);
  }
  context_.api.http().RunAfter(answered ? options_.retry : options_.retry_no_answer,
                               [this] { Ask(0); });
}

/// Its metrics begin here, too: without KEDA a list that is never complete would look like a fault.
void ScaledObjectWatch::Watch() {
  const base::MutexLock lock(mutex_);
  group_ = std::make_unique<WatchGroup>(context_, ScaledObjects(), namespaces_, sink_);
  group_->Start();
}

base::Result<void> ScaledObjectWatch::Check(std::string_view ns) const {
  const WatchGroup* group = nullptr;
  {
    const base::MutexLock lock(mutex_);
    if (!group_) return std::unexpected(refused_);
    group = group_.get();
  }
  return group->CheckNamespace(ns);
}

base::Result<ScaledObject> ScaledObjectWatch::Find(std::string_view ns,
                                                   std::string_view name) const {
  if (auto known = Check(ns); !known) return std::unexpected(std::move(known.error()));
  const base::MutexLock lock(mutex_);
  const auto found = objects_.find({std::string(ns), std::string(name)});
  if (found != objects_.end()) return found->second;
  return base::Fail(Code::kUnavailable, fmt::format("there is no ScaledObject {}/{}", ns, name));
}

void ScaledObjectWatch::OnObject(const boost::json::object& object) {
  ScaledObject read = ReadScaledObject(object);
  std::string ns = read.ns;
  {
    const base::MutexLock lock(mutex_);
    ScaledObject& known = objects_[{read.ns, read.name}];
    // KEDA writes the status of each with every poll.
    if (known == read) return;
    known = std::move(read);
  }
  on_change_(std::move(ns));
}

void ScaledObjectWatch::OnGone(std::string_view ns, std::string_view name) {
  {
    const base::MutexLock lock(mutex_);
    objects_.erase({std::string(ns), std::string(name)});
  }
  on_change_(std::string(ns));
}

}  // namespace activescale::kube

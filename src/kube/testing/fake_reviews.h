#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kube/reviews.h"

namespace activescale::kube {

/// Knows the tokens that a test names. Threads: any.
class FakeTokenReviewer final : public TokenReviewer {
 public:
  void Add(const std::string& token, UserInfo user) {
    base::MutexLock lock(mutex_);
    users_[token] = std::move(user);
  }
  /// Every review fails from now on; nothing heals it.
  void Fail(std::optional<base::Error> error) {
    base::MutexLock lock(mutex_);
    error_ = std::move(error);
  }
  [[nodiscard]] int reviews() const {
    base::MutexLock lock(mutex_);
    return reviews_;
  }

  void Review(std::string token, Callback done) override {
    std::optional<base::Error> error;
    std::optional<UserInfo> user;
    {
      base::MutexLock lock(mutex_);
      ++reviews_;
      error = error_;
      const auto found = users_.find(token);
      if (found != users_.end()) user = found->second;
    }
    if (error) return done(std::unexpected(*std::move(error)));
    done(std::move(user));
  }

 private:
  mutable base::Mutex mutex_;
  std::map<std::string, UserInfo> users_ GUARDED_BY(mutex_);
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
  int reviews_ GUARDED_BY(mutex_) = 0;
};

/// Allows what a test's rule allows, and remembers what it was asked. Threads: any.
class FakeAccessReviewer final : public AccessReviewer {
 public:
  using Rule = std::function<base::Result<AccessDecision>(const AccessAttributes&)>;

  void SetRule(Rule rule) {
    base::MutexLock lock(mutex_);
    rule_ = std::move(rule);
  }
  /// Answers wait until Release: an API server that is slow.
  void Hold() {
    base::MutexLock lock(mutex_);
    hold_ = true;
  }
  void Release() {
    std::vector<std::move_only_function<void()>> held;
    {
      base::MutexLock lock(mutex_);
      hold_ = false;
      held = std::move(held_);
    }
    for (auto& answer : held) answer();
  }
  [[nodiscard]] std::vector<AccessAttributes> asked() const {
    base::MutexLock lock(mutex_);
    return asked_;
  }

  void Review(AccessAttributes attributes, Callback done) override {
    base::Result<AccessDecision> decision = AccessDecision{};
    {
      base::MutexLock lock(mutex_);
      asked_.push_back(attributes);
      if (rule_) decision = rule_(attributes);
      if (hold_) {
        held_.push_back([done = std::move(done), decision = std::move(decision)]() mutable {
          done(std::move(decision));
        });
        return;
      }
    }
    done(std::move(decision));
  }

 private:
  mutable base::Mutex mutex_;
  Rule rule_ GUARDED_BY(mutex_);
  bool hold_ GUARDED_BY(mutex_) = false;
  std::vector<std::move_only_function<void()>> held_ GUARDED_BY(mutex_);
  std::vector<AccessAttributes> asked_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube

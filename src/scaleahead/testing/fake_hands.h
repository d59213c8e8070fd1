#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scaleahead/hands.h"

namespace activescale::scaleahead {

/// Notes what it is asked to do, and does it only when the test says how it ends.
class FakeHands final : public Hands {
 public:
  struct Call {
    Step step;
    std::move_only_function<void(StepResult)> done;
  };
  void Scale(const Step& step, std::move_only_function<void(StepResult)> done) override {
    steps.push_back(step);
    calls.push_back({step, std::move(done)});
  }
  void Tell(const kube::HpaObject& hpa, const Notice& notice) override {
    notices.push_back(notice.reason);
    notes.push_back(hpa.name + ": " + notice.note);
  }

  std::vector<Step> steps;
  std::deque<Call> calls;
  std::vector<std::string> notices;
  std::vector<std::string> notes;
};

}  // namespace activescale::scaleahead

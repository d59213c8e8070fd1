#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/hpa_object.h"
#include "kube/watcher.h"

namespace activescale::insight {

/// One HPA as the watch has it. Immutable.
struct HpaSight {
  kube::HpaObject object;  // of one that cannot be read, only the names
  std::string fault;       // why it cannot be read; "" if it can
  int32_t current_replicas = 0;
  std::optional<base::WallTime> last_scale;  // when its controller last changed the replicas
};

/// All HPAs, kept equal to the API server's by a watch whose sink this is. Threads: any.
class HpaTable final : public kube::ObjectSink {
 public:
  using Hpas = std::vector<std::shared_ptr<const HpaSight>>;

  /// Needs spec and status besides the metadata.
  void Upsert(const boost::json::object& object) override;
  void Remove(std::string_view ns, std::string_view name) override;

  /// In order of namespace and name.
  [[nodiscard]] Hpas List() const;

 private:
  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const HpaSight>> hpas_
      GUARDED_BY(mutex_);
};

}  // namespace activescale::insight

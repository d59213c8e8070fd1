#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kube/watcher.h"

namespace activescale::kube {

/// Some numbers of every object of a resource, kept equal to the API server's by a watch whose sink
/// this is. Threads: any.
class ObjectNumbers final : public ObjectSink {
 public:
  /// Where a number is, such as "spec.replicas", and what it is when it is absent.
  struct Field {
    std::string path;
    std::optional<double> initial;
  };
  /// In the order of the fields.
  using Numbers = std::vector<std::optional<double>>;
  struct Object {
    std::string ns;
    std::string name;
    Numbers numbers;
  };

  explicit ObjectNumbers(std::vector<Field> fields) : fields_(std::move(fields)) {}

  void Upsert(const boost::json::object& object) override;
  void Remove(std::string_view ns, std::string_view name) override;

  /// In order of namespace and name.
  [[nodiscard]] std::vector<Object> List() const;

 private:
  const std::vector<Field> fields_;
  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Numbers> objects_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube

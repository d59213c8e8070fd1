#include "kube/object_numbers.h"

#include <boost/json/value.hpp>

#include "kube/json.h"

namespace activescale::kube {
namespace {

std::optional<double> NumberAt(const boost::json::object& object, std::string_view path) {
  const boost::json::object* at = &object;
  while (at != nullptr) {
    const size_t dot = path.find('.');
    const boost::json::value* value = at->if_contains(path.substr(0, dot));
    if (value == nullptr) return std::nullopt;
    if (dot == std::string_view::npos) {
      if (!value->is_number()) return std::nullopt;
      return value->to_number<double>();
    }
    at = value->if_object();
    path.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

}  // namespace

void ObjectNumbers::Upsert(const boost::json::object& object) {
  Numbers numbers;
  for (const Field& field : fields_) {
    const auto number = NumberAt(object, field.path);
    numbers.push_back(number ? number : field.initial);
  }
  const base::MutexLock lock(mutex_);
  objects_[{std::string(FindString(object, {"metadata", "namespace"})),
            std::string(FindString(object, {"metadata", "name"}))}] = std::move(numbers);
}

void ObjectNumbers::Remove(std::string_view ns, std::string_view name) {
  const base::MutexLock lock(mutex_);
  objects_.erase({std::string(ns), std::string(name)});
}

std::vector<ObjectNumbers::Object> ObjectNumbers::List() const {
  const base::MutexLock lock(mutex_);
  std::vector<Object> objects;
  objects.reserve(objects_.size());
  for (const auto& [key, numbers] : objects_) objects.push_back({key.first, key.second, numbers});
  return objects;
}

}  // namespace activescale::kube

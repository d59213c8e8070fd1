#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace activescale::kube {

/// The value at a path of members, e.g. {"metadata", "name"}; null if there is none.
/// Valid while `object` is.
[[nodiscard]] inline const boost::json::value* FindValue(
    const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const boost::json::object* at = &object;
  const boost::json::value* found = nullptr;
  for (const std::string_view key : path) {
    if (at == nullptr) return nullptr;
    found = at->if_contains(key);
    if (found == nullptr) return nullptr;
    at = found->if_object();
  }
  return found;
}

/// The string at a path; "" if there is none. Valid while `object` is.
[[nodiscard]] inline std::string_view FindString(const boost::json::object& object,
                                                 std::initializer_list<std::string_view> path) {
  const boost::json::value* value = FindValue(object, path);
  if (value == nullptr || !value->is_string()) return {};
  const boost::json::string& text = value->get_string();
  return {text.data(), text.size()};
}

/// The object or array at a path; null if there is none.
[[nodiscard]] inline const boost::json::object* FindObject(
    const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const boost::json::value* value = FindValue(object, path);
  return value == nullptr ? nullptr : value->if_object();
}
[[nodiscard]] inline const boost::json::array* FindArray(
    const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const boost::json::value* value = FindValue(object, path);
  return value == nullptr ? nullptr : value->if_array();
}

/// The objects in the array at a path; what else is in it is passed over. Valid while `object` is.
[[nodiscard]] inline std::vector<const boost::json::object*> FindObjects(
    const boost::json::object& object, std::initializer_list<std::string_view> path) {
  std::vector<const boost::json::object*> out;
  if (const boost::json::array* list = FindArray(object, path)) {
    for (const boost::json::value& value : *list) {
      if (const boost::json::object* each = value.if_object()) out.push_back(each);
    }
  }
  return out;
}

}  // namespace activescale::kube

#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/error.h"

namespace activescale::kube {

/// Which members of an object are worth keeping; the rest is read past. Arrays are transparent:
/// "status.conditions.type" keeps that member of each condition. A value type.
class FieldMask {
 public:
  FieldMask() = default;  // keeps nothing
  /// Paths joined by dots; a path keeps everything below it.
  FieldMask(std::initializer_list<std::string_view> paths);

  void Add(std::string_view path);
  /// Puts `other` below `path`.
  void Graft(std::string_view path, const FieldMask& other);

  /// The mask of a member; null: not kept. Valid while this mask is.
  [[nodiscard]] const FieldMask* Find(std::string_view key) const;
  [[nodiscard]] bool keeps_all() const { return keeps_all_; }

 private:
  FieldMask& At(std::string_view path);

  bool keeps_all_ = false;
  std::map<std::string, FieldMask, std::less<>> members_;
};

/// Reads Kubernetes JSON as it comes in, in pieces cut anywhere, and gives out one object after the
/// other, reduced to its mask: memory is bounded by one object, not by an answer.
/// Threads: one at a time.
class ObjectStream {
 public:
  enum class Form {
    kList,   // one document; each of its `items` is given out
    kWatch,  // documents without end: {"type": "ADDED", "object": {...}}; each is given out
  };
  using OnObject = std::move_only_function<void(boost::json::object)>;

  /// `mask` is of the objects themselves. Of an event, `type` and what a Status says is kept
  /// besides. An object of more than `max_object_bytes` of text is refused.
  ObjectStream(Form form, const FieldMask& mask, size_t max_object_bytes, OnObject on_object);
  ~ObjectStream();
  ObjectStream(const ObjectStream&) = delete;
  ObjectStream& operator=(const ObjectStream&) = delete;

  /// Errors: kInternal, not JSON or too large; then this stream is not to be fed again.
  [[nodiscard]] base::Result<void> Feed(std::string_view piece);

  /// The end of the input. For a list its own members: kind, metadata.resourceVersion and
  /// .continue, and those of a Status; for a watch an empty object.
  /// Errors: kInternal, cut within an object, or an empty list.
  [[nodiscard]] base::Result<boost::json::object> Finish();

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace activescale::kube

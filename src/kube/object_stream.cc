#include "kube/object_stream.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

namespace activescale::kube {

namespace json = boost::json;

FieldMask::FieldMask(std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths) Add(path);
}

FieldMask& FieldMask::At(std::string_view path) {
  FieldMask* mask = this;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    mask = &mask->members_[std::string(path.substr(0, dot))];
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return *mask;
}

void FieldMask::Add(std::string_view path) { At(path).keeps_all_ = true; }

void FieldMask::Graft(std::string_view path, const FieldMask& other) {
  FieldMask& at = At(path);
  at.keeps_all_ |= other.keeps_all_;
  for (const auto& [key, mask] : other.members_) at.Graft(key, mask);
}

const FieldMask* FieldMask::Find(std::string_view key) const {
  if (keeps_all_) return this;
  const auto it = members_.find(key);
  return it == members_.end() ? nullptr : &it->second;
}

namespace {

FieldMask RootMask(ObjectStream::Form form, const FieldMask& mask) {
  const FieldMask status{"kind", "status", "reason", "message", "code", "metadata.resourceVersion"};
  FieldMask root;
  if (form == ObjectStream::Form::kWatch) {
    root.Add("type");
    root.Graft("object", mask);
    root.Graft("object", status);
  } else {
    root = status;
    root.Add("metadata.continue");
    root.Graft("items", mask);
  }
  return root;
}

/// Takes the parser's events and builds what the mask keeps. A level of the document that is kept
/// has a frame; below one that is not, only the depth is counted.
class MaskedBuilder {
 public:
  // Names and numbers that basic_parser asks for.
  static constexpr size_t max_object_size = static_cast<size_t>(-1);  // NOLINT
  static constexpr size_t max_array_size = static_cast<size_t>(-1);   // NOLINT
  static constexpr size_t max_key_size = size_t{1} << 16;             // NOLINT
  static constexpr size_t max_string_size = size_t{1} << 24;          // NOLINT
  using Code = json::error_code;

  MaskedBuilder(ObjectStream::Form form, const FieldMask& mask, ObjectStream::OnObject on_object)
      : form_(form), root_(RootMask(form, mask)), on_object_(std::move(on_object)) {
    Reset();
  }

  void Reset() {
    document_.reset();
    item_.reset();
    stack_ = &document_;
    frames_.clear();
    skipped_depth_ = 0;
    next_ = &root_;
    result_ = json::object();
    complete_ = false;
  }

  [[nodiscard]] size_t given_out() const { return given_out_; }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] json::object TakeResult() { return std::move(result_); }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }

  bool on_object_begin(Code&) { return Open(false); }
  bool on_array_begin(Code&) { return Open(true); }
  bool on_object_end(size_t, Code&) {
    if (Skips()) return true;
    const Frame frame = frames_.back();
    frames_.pop_back();
    stack_->push_object(frame.kept);
    Close();
    return true;
  }
  bool on_array_end(size_t, Code&) {
    if (Skips()) return true;
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.is_items) {
      stack_ = &document_;
      AfterValue();
    } else {
      stack_->push_array(frame.kept);
      Close();
    }
    return true;
  }

  bool on_key_part(json::string_view part, size_t, Code&) {
    if (skipped_depth_ == 0) key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, size_t, Code&) {
    if (skipped_depth_ != 0) return true;
    key_.append(part.data(), part.size());
    next_ = frames_.back().mask->Find(key_);
    opens_items_ = form_ == ObjectStream::Form::kList && frames_.size() == 1 && key_ == "items";
    if (next_ != nullptr && !opens_items_) stack_->push_key(key_);
    key_.clear();
    return true;
  }

  bool on_string_part(json::string_view part, size_t, Code&) {
    if (Kept()) stack_->push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, size_t, Code&) {
    return Scalar([&] { stack_->push_string(part); });
  }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(int64_t value, json::string_view, Code&) {
    return Scalar([&] { stack_->push_int64(value); });
  }
  bool on_uint64(uint64_t value, json::string_view, Code&) {
    return Scalar([&] { stack_->push_uint64(value); });
  }
  bool on_double(double value, json::string_view, Code&) {
    return Scalar([&] { stack_->push_double(value); });
  }
  bool on_bool(bool value, Code&) {
    return Scalar([&] { stack_->push_bool(value); });
  }
  bool on_null(Code&) {
    return Scalar([&] { stack_->push_null(); });
  }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

 private:
  struct Frame {
    const FieldMask* mask;
    bool is_array;
    bool is_items;
    size_t kept = 0;  // members or elements on the value stack
  };

  [[nodiscard]] bool Kept() const {
    return skipped_depth_ == 0 && next_ != nullptr && !opens_items_;
  }

  /// Counts the end of a level that is not kept.
  bool Skips() {
    if (skipped_depth_ == 0) return false;
    if (--skipped_depth_ == 0) AfterValue();
    return true;
  }

  bool Open(bool is_array) {
    const bool is_items = opens_items_ && is_array;
    if (!is_items && !Kept()) {
      opens_items_ = false;
      ++skipped_depth_;
      return true;
    }
    opens_items_ = false;
    frames_.push_back({next_, is_array, is_items});
    if (is_items) stack_ = &item_;
    return true;
  }

  /// A kept object or array is complete and on the value stack.
  void Close() {
    if (frames_.empty()) {
      FinishDocument();
    } else if (frames_.back().is_items) {
      GiveOut(item_.release());
      item_.reset();
      AfterValue();
    } else {
      ++frames_.back().kept;
      AfterValue();
    }
  }

  template <typename Push>
  bool Scalar(Push push) {
    if (!Kept()) {
      opens_items_ = false;  // an empty list of Go's is null
      if (skipped_depth_ == 0) AfterValue();
      return true;
    }
    push();
    Close();
    return true;
  }

  /// In an array the next element has the array's mask; in an object a key will tell.
  void AfterValue() {
    next_ = frames_.empty() || !frames_.back().is_array ? nullptr : frames_.back().mask;
  }

  void FinishDocument() {
    complete_ = true;
    json::value value = document_.release();
    document_.reset();
    next_ = &root_;
    if (form_ == ObjectStream::Form::kWatch) {
      GiveOut(std::move(value));
    } else if (value.is_object()) {
      result_ = std::move(value.get_object());
    }
  }

  void GiveOut(json::value value) {
    ++given_out_;
    on_object_(value.is_object() ? std::move(value.get_object()) : json::object());
  }

  const ObjectStream::Form form_;
  const FieldMask root_;
  ObjectStream::OnObject on_object_;

  json::value_stack document_;
  json::value_stack item_;
  json::value_stack* stack_ = nullptr;
  std::vector<Frame> frames_;
  size_t skipped_depth_ = 0;
  const FieldMask* next_ = nullptr;  // mask of the value that comes; null: not kept
  bool opens_items_ = false;         // that value is the list's `items`, which has no key here
  std::string key_;
  json::object result_;
  size_t given_out_ = 0;
  bool complete_ = false;  // of the current document
};

json::parse_options Options() {
  json::parse_options options;
  options.max_depth = 128;  // managedFields of deep objects
  return options;
}

}  // namespace

class ObjectStream::Reader {
 public:
  Reader(Form form, const FieldMask& mask, size_t max_object_bytes, OnObject on_object)
      : form_(form),
        max_object_bytes_(max_object_bytes),
        parser_(Options(), form, mask, std::move(on_object)) {}

  base::Result<void> Feed(std::string_view piece) {
    while (!piece.empty()) {
      const size_t given_out = parser_.handler().given_out();
      json::error_code error;
      const size_t used = parser_.write_some(true, piece.data(), piece.size(), error);
      if (error) return Fail(error.message());
      const bool progress = parser_.handler().given_out() != given_out;
      object_bytes_ = progress ? 0 : object_bytes_ + used;
      if (object_bytes_ > max_object_bytes_) {
        return Fail(fmt::format("an object is larger than {} bytes", max_object_bytes_));
      }
      started_ = started_ || piece.substr(0, used).find_first_not_of(" \t\r\n") != piece.npos;
      piece.remove_prefix(used);
      if (piece.empty()) break;
      // The parser stopped before the end: a document is over.
      if (form_ == Form::kList) return Fail("there is text after the end of the list");
      parser_.reset();
      parser_.handler().Reset();
      started_ = false;
    }
    return {};
  }

  base::Result<json::object> Finish() {
    if (form_ == Form::kWatch) {
      if (started_ && !parser_.handler().complete()) return Fail("it ends within an object");
      return json::object();
    }
    if (!parser_.handler().complete()) return Fail("it ends before the list does");
    return parser_.handler().TakeResult();
  }

 private:
  static std::unexpected<base::Error> Fail(const std::string& why) {
    return base::Fail(base::Code::kInternal,
                      "the API server sent what is not readable as Kubernetes JSON: " + why);
  }

  const Form form_;
  const size_t max_object_bytes_;
  json::basic_parser<MaskedBuilder> parser_;
  size_t object_bytes_ = 0;  // since the last object was given out
  bool started_ = false;     // the current document has begun
};

ObjectStream::ObjectStream(Form form, const FieldMask& mask, size_t max_object_bytes,
                           OnObject on_object)
    : reader_(std::make_unique<Reader>(form, mask, max_object_bytes, std::move(on_object))) {}
ObjectStream::~ObjectStream() = default;

base::Result<void> ObjectStream::Feed(std::string_view piece) { return reader_->Feed(piece); }
base::Result<json::object> ObjectStream::Finish() { return reader_->Finish(); }

}  // namespace activescale::kube

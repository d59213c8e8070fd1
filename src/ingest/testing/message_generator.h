#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace activescale::ingest {

/// Makes StreamMetricsMessages byte by byte, with all that the wire format allows and no library
/// writes: repeated and split sub-messages, unknown fields, groups, fields of a wrong wire type,
/// varints that are longer than need be, text that is not UTF-8. The same seed, the same messages.
class MessageGenerator {
 public:
  explicit MessageGenerator(uint64_t seed) : random_(seed) {}

  /// A third as generated, a third cut short, a third with some bytes changed.
  [[nodiscard]] std::string Next();

  /// Uniform in [0, bound).
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

 private:
  using Member = void (MessageGenerator::*)(std::string&, int);

  bool OneIn(uint32_t n) { return Below(n) == 0; }
  void Varint(std::string& out, uint64_t value);
  void TagOf(std::string& out, uint32_t number, uint32_t type);
  void Bytes(std::string& out, uint32_t number, std::string_view bytes);
  void Double(std::string& out, uint32_t number);
  void Number(std::string& out, uint32_t number);
  void Unknown(std::string& out, int depth);
  std::string Text();
  /// Emits sub-message `number` as `member` writes it, at times in several parts.
  void Sub(std::string& out, uint32_t number, Member member, int depth);

  void Message(std::string& out, int depth);
  void Identifier(std::string& out, int depth);
  void Node(std::string& out, int depth);
  void BuildVersion(std::string& out, int depth);
  void Extension(std::string& out, int depth);
  void Struct(std::string& out, int depth);
  void StructEntry(std::string& out, int depth);
  void Value(std::string& out, int depth);
  void ListValue(std::string& out, int depth);
  void Family(std::string& out, int depth);
  void Metric(std::string& out, int depth);
  void LabelPair(std::string& out, int depth);
  void Gauge(std::string& out, int depth);
  void Counter(std::string& out, int depth);
  void Exemplar(std::string& out, int depth);
  void Histogram(std::string& out, int depth);
  void Bucket(std::string& out, int depth);

  std::mt19937_64 random_;
  bool spoiled_text_ = false;  // this message may hold text that is not UTF-8
};

/// A message in pieces that are each a heap block of exactly their size, so that the address
/// sanitizer sees a read outside any of them.
class Fragments {
 public:
  /// Cut every `size` bytes; 0 for one piece.
  Fragments(std::string_view bytes, size_t size);
  ~Fragments();
  Fragments(const Fragments&) = delete;
  Fragments& operator=(const Fragments&) = delete;

  [[nodiscard]] const std::vector<std::string_view>& slices() const { return slices_; }

 private:
  std::vector<std::string_view> slices_;
};

}  // namespace activescale::ingest

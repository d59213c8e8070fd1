// Runs a fuzz target without libFuzzer: every file of the folders given, and seeded mutations of
// them, so that each compiler and sanitizer sees the same inputs in the ordinary test run.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutations = 20'000;
constexpr uint32_t kSeed = 20240229;

/// Gives the target a block of exactly the input's size, so that a sanitizer sees an overread.
void Run(const std::string& input) {
  const std::unique_ptr<uint8_t[]> block(new uint8_t[input.size()]);
  std::ranges::copy(input, block.get());
  LLVMFuzzerTestOneInput(block.get(), input.size());
}

std::string Mutate(const std::vector<std::string>& corpus, std::mt19937& random) {
  const auto pick = [&random](size_t bound) { return random() % std::max<size_t>(bound, 1); };
  std::string input = corpus[pick(corpus.size())];
  const size_t changes = 1 + pick(4);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = pick(input.size() + 1);
    switch (pick(5)) {
      case 0:
        input.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        input.erase(at, 1 + pick(8));
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 3: {
        const std::string& other = corpus[pick(corpus.size())];
        input.insert(at, other.substr(pick(other.size()), 1 + pick(32)));
        break;
      }
      default:
        input.resize(at);
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  std::ranges::sort(corpus);
  if (corpus.empty()) {
    std::fprintf(stderr, "no inputs: name a folder with some\n");
    return 1;
  }
  for (const std::string& input : corpus) Run(input);
  std::mt19937 random(kSeed);
  for (int i = 0; i < kMutations; ++i) Run(Mutate(corpus, random));
  std::printf("%zu inputs and %d mutations (seed %u)\n", corpus.size(), kMutations, kSeed);
  return 0;
}

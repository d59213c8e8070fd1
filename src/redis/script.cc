#include "redis/script.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "net/digest.h"
#include "redis/reply_error.h"
#include "redis/resp.h"

namespace activescale::redis {
Script::Script(std::string_view source)
    : sha_(net::Sha1Hex(source)),
      by_sha_(fmt::format("$7\r\nEVALSHA\r\n${}\r\n{}\r\n", sha_.size(), sha_)),
      by_source_(fmt::format("$4\r\nEVAL\r\n${}\r\n{}\r\n", source.size(), source)) {}

void Script::Run(Client& client, uint16_t slot, std::span<const std::string_view> keys,
                 std::span<const std::string_view> args, std::chrono::milliseconds timeout,
                 ReplyCallback done) const {
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words = {"EVALSHA", sha_, count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), args.begin(), args.end());
  std::string wire;
  AppendCommand(wire, words);
  client.Send(slot, wire, timeout,
              [this, &client, slot, timeout, wire,
               done = std::move(done)](base::Result<Answer> answer) mutable {
                if (answer && answer->reply.IsError() &&
                    Classify(answer->reply.text) == ErrorKind::kNoScript) {
                  wire.replace(wire.find(by_sha_), by_sha_.size(), by_source_);
                  return client.Send(slot, std::move(wire), timeout, std::move(done));
                }
                done(std::move(answer));
              });
}

}  // namespace activescale::redis

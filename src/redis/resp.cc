#include "redis/resp.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <algorithm>
#include <new>

namespace activescale::redis {

namespace {

constexpr size_t kMaxUnreadBytes = 64 * 1024 * 1024;
// A Cluster of 16,384 one-slot ranges, each with two replicas, has about 250,000 elements.
constexpr size_t kMaxElements = 400'000;

/// Where the value of `task` goes: a new root, or the parent's element, which exists already.
Reply* Place(const redisReadTask* task, Reply::Type type) {
  auto* reply =
      task->parent == nullptr
          ? new Reply
          : &static_cast<Reply*>(task->parent->obj)->elements[static_cast<size_t>(task->idx)];
  reply->type = type;
  return reply;
}

void* CreateText(const redisReadTask* task, char* text, size_t size) {
  const Reply::Type type = task->type == REDIS_REPLY_ERROR    ? Reply::Type::kError
                           : task->type == REDIS_REPLY_STATUS ? Reply::Type::kStatus
                                                              : Reply::Type::kString;
  Reply* reply = Place(task, type);
  reply->text.assign(text, size);
  return reply;
}

void* CreateInteger(const redisReadTask* task, long long value) {
  Reply* reply = Place(task, Reply::Type::kInteger);
  reply->integer = value;
  return reply;
}

void* CreateNil(const redisReadTask* task) { return Place(task, Reply::Type::kNil); }

void* CreateArray(const redisReadTask* task, int size) {
  auto* left = static_cast<size_t*>(task->privdata);
  const auto count = static_cast<size_t>(std::max(size, 0));
  if (count > *left) return nullptr;  // hiredis reports it as out of memory
  *left -= count;
  Reply* reply = Place(task, Reply::Type::kArray);
  reply->elements.resize(count);
  return reply;
}

void FreeRoot(void* root) { delete static_cast<Reply*>(root); }

redisReplyObjectFunctions g_functions = {CreateText, CreateArray, CreateInteger, CreateNil,
                                         FreeRoot};

}  // namespace

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&g_functions)) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = &elements_left_;
}

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

base::Result<void> ReplyReader::Feed(std::string_view bytes) {
  if (reader_->len - reader_->pos + bytes.size() > kMaxUnreadBytes) {
    return base::Fail(base::Code::kInternal, "a reply is larger than 64 MiB");
  }
  redisReaderFeed(reader_, bytes.data(), bytes.size());
  return {};
}

base::Result<std::optional<Reply>> ReplyReader::Next() {
  if (reader_->reply == nullptr) elements_left_ = kMaxElements;
  void* raw = nullptr;
  if (redisReaderGetReply(reader_, &raw) != REDIS_OK) {
    return base::Fail(base::Code::kInternal, reader_->err == REDIS_ERR_OOM
                                                 ? "a reply has too many elements"
                                                 : reader_->errstr);
  }
  if (raw == nullptr) return std::nullopt;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(raw));
  return std::move(*reply);
}

void AppendCommand(std::string& wire, std::span<const std::string_view> args) {
  std::vector<const char*> starts(args.size());
  std::vector<size_t> sizes(args.size());
  std::ranges::transform(args, starts.begin(), [](std::string_view a) { return a.data(); });
  std::ranges::transform(args, sizes.begin(), [](std::string_view a) { return a.size(); });
  char* text = nullptr;
  const int size =
      redisFormatCommandArgv(&text, static_cast<int>(args.size()), starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  wire.append(text, static_cast<size_t>(size));
  redisFreeCommand(text);
}

std::string FormatCommand(std::initializer_list<std::string_view> args) {
  std::string wire;
  AppendCommand(wire, std::span<const std::string_view>(args.begin(), args.size()));
  return wire;
}

}  // namespace activescale::redis

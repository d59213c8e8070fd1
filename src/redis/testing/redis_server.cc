#include "redis/testing/redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

#include "redis/resp.h"

namespace activescale::redis {
namespace {

std::string Program() {
  // Read before any thread of a test exists.
  const char* name = std::getenv("REDIS_SERVER");  // NOLINT(concurrency-mt-unsafe)
  return name == nullptr ? "redis-server" : name;
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  (void)bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

int Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

std::string Say(const Reply& reply) {
  if (reply.type == Reply::Type::kNil) return "nil";
  if (reply.type == Reply::Type::kInteger) return std::to_string(reply.integer);
  if (reply.type != Reply::Type::kArray) return reply.text;
  std::string out;
  for (const Reply& element : reply.elements) out += (out.empty() ? "" : " ") + Say(element);
  return out;
}

}  // namespace

bool RedisServer::Available() {
  const std::string command = "command -v " + Program() + " >/dev/null";
  return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
}

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
  std::string folder = std::filesystem::temp_directory_path() / "redis-server-XXXXXX";
  folder_ = mkdtemp(folder.data());
  // Another process may take the port between the look and the start.
  for (int i = 0; i < 10; ++i) {
    port_ = FreePort();
    if (Launch()) return;
  }
  std::fputs("redis-server does not start\n", stderr);
  std::abort();
}

RedisServer::~RedisServer() {
  Kill();
  std::filesystem::remove_all(folder_);
}

void RedisServer::Start() {
  if (Launch()) return;
  std::fputs("redis-server does not start again\n", stderr);
  std::abort();
}

bool RedisServer::Launch() {
  std::vector<std::string> args = {Program(), "--port",    std::to_string(port_),
                                   "--bind",  "127.0.0.1", "--save",
                                   "",        "--dir",     folder_};
  args.insert(args.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  for (int i = 0; i < 1000; ++i) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    if (const int fd = Connect(port_); fd >= 0) {
      close(fd);
      if (Do({"PING"}) != "") return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Kill();
  return false;
}

void RedisServer::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::Freeze() { kill(pid_, SIGSTOP); }

void RedisServer::Thaw() { kill(pid_, SIGCONT); }

std::string RedisServer::Do(const std::vector<std::string>& args) const {
  const int fd = Connect(port_);
  if (fd < 0) return "";
  std::string wire;
  AppendCommand(wire, std::vector<std::string_view>(args.begin(), args.end()));
  std::string answer;
  ReplyReader reader;
  if (send(fd, wire.data(), wire.size(), MSG_NOSIGNAL) > 0) {
    char buffer[65536];
    for (ssize_t size; (size = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      if (!reader.Feed(std::string_view(buffer, static_cast<size_t>(size)))) break;
      auto reply = reader.Next();
      if (!reply) break;
      if (!*reply) continue;
      answer = Say(**reply);
      break;
    }
  }
  close(fd);
  return answer;
}

uint64_t RedisServer::Calls(const std::string& command) const {
  const std::string stats = Do({"INFO", "commandstats"});
  const std::string name = "cmdstat_" + command + ":calls=";
  const size_t at = stats.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoull(stats.c_str() + at + name.size(), nullptr, 10);
}

}  // namespace activescale::redis

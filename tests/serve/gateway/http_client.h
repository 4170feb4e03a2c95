// A client that sends bytes as they are, so that a test can send wrong ones, and reads one answer after the
// other.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_HTTP_CLIENT_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_HTTP_CLIENT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace trellis::gateway {

struct HttpAnswer {
  int status = 0;  // 0: the connection ended first
  std::string head, body;

  std::string Header(std::string_view name) const {
    for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
      const std::string_view line = std::string_view(head).substr(at + 2, head.find("\r\n", at + 2) - at - 2);
      if (line.size() > name.size() && line[name.size()] == ':' &&
          strncasecmp(line.data(), name.data(), name.size()) == 0) {
        const size_t value = line.find_first_not_of(' ', name.size() + 1);
        return value == std::string_view::npos ? "" : std::string(line.substr(value));
      }
    }
    return "";
  }
};

class HttpClient {
 public:
  explicit HttpClient(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Connect(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  explicit HttpClient(const std::string& unix_path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    Connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ~HttpClient() { Close(); }
  HttpClient(const HttpClient&) = delete;

  // False: the other side has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // `method`: an answer to HEAD has no body, whatever its length says.
  HttpAnswer Read(std::string_view method = "POST") {
    HttpAnswer answer;
    size_t end;
    while ((end = read_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore()) return answer;
    }
    answer.head = read_.substr(0, end + 2);
    read_.erase(0, end + 4);
    answer.status = std::atoi(answer.head.c_str() + sizeof("HTTP/1.1"));
    const size_t length =
        method == "HEAD" ? 0 : static_cast<size_t>(std::atol(answer.Header("content-length").c_str()));
    while (read_.size() < length) {
      if (!ReadMore()) return {};
    }
    answer.body = read_.substr(0, length);
    read_.erase(0, length);
    return answer;
  }

  HttpAnswer Post(const std::string& path, const std::string& body, const std::string& headers = "") {
    Send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
    return Read();
  }
  HttpAnswer Get(const std::string& path, const std::string& method = "GET") {
    Send(method + " " + path + " HTTP/1.1\r\nHost: test\r\n\r\n");
    return Read(method);
  }

  // Whether the other side has ended the connection, after whatever else it sent.
  bool IsClosed() {
    while (ReadMore()) {
    }
    return true;
  }
  // All has been said; answers can still be read.
  void EndSending() { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  void Connect(int family, const sockaddr* address, socklen_t size) {
    fd_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd_, address, size), 0);
    const timeval limit{60, 0};  // a test that waits for ever tells less than one that fails
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  bool ReadMore() {
    char part[65536];
    const ssize_t count = recv(fd_, part, sizeof(part), 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ADD_FAILURE() << "no answer";
    if (count <= 0) return false;
    read_.append(part, static_cast<size_t>(count));
    return true;
  }

  int fd_ = -1;
  std::string read_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_HTTP_CLIENT_H_

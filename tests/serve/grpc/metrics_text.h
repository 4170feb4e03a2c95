// The Prometheus text format, read strictly: a line that is not of it is a failure.
#ifndef TRELLIS_TESTS_SERVE_GRPC_METRICS_TEXT_H_
#define TRELLIS_TESTS_SERVE_GRPC_METRICS_TEXT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace trellis::server {

using Samples = std::map<std::string, double>;  // series as written: its value

inline Samples ParseMetrics(const std::string& text) {
  static const std::regex comment(R"(# (HELP|TYPE) ([a-z_][a-z0-9_]*) .+)");
  static const std::regex sample(
      R"re(([a-z_][a-z0-9_]*)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? ([-+0-9.eE]+|\+Inf|[Nn]a[Nn]))re");
  Samples samples;
  std::set<std::string> typed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, comment)) {
      if (match[1] == "TYPE") {
        EXPECT_TRUE(typed.insert(match[2]).second) << "a second TYPE of " << match[2];
      }
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_TRUE(samples.emplace(match[1].str() + match[2].str(), std::stod(match[4])).second)
          << "twice: " << line;
    } else {
      ADD_FAILURE() << "no line of the text format: " << line;
    }
  }
  return samples;
}

// The whole answer to GET `path`, head and all; empty where nobody answers.
inline std::string HttpGet(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    char part[4096];
    for (ssize_t count; (count = recv(fd, part, sizeof(part), 0)) > 0;)
      answer.append(part, static_cast<size_t>(count));
  }
  close(fd);
  return answer;
}

inline Samples ScrapeMetrics(int port) {
  const std::string answer = HttpGet(port, "/metrics");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer.substr(0, 100);
  const size_t body = answer.find("\r\n\r\n");
  return body == std::string::npos ? Samples() : ParseMetrics(answer.substr(body + 4));
}

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_METRICS_TEXT_H_

// A client of the gRPC port that does what no gRPC client does: it sends frames by hand, reads nothing, and
// lets the server send nothing.
#ifndef TRELLIS_TESTS_SERVE_GRPC_RAW_HTTP2_H_
#define TRELLIS_TESTS_SERVE_GRPC_RAW_HTTP2_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace trellis::server {

class RawHttp2 {
 public:
  // A TCP connection, and nothing sent yet.
  explicit RawHttp2(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawHttp2() { Close(); }
  RawHttp2(const RawHttp2&) = delete;

  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  // `window`: bytes of each answer that the server may send.
  void Preface(uint32_t window) {
    const std::string settings = std::string("\0\4", 2) + Word(window);  // SETTINGS_INITIAL_WINDOW_SIZE
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, settings) + Frame(4, 1, 0, ""));
  }
  void Headers(uint32_t stream) {
    Send(Frame(1, 4, stream,
               Header(":method", "POST") + Header(":scheme", "http") +
                   Header(":path", "/trellis.v1.Inference/Infer") + Header(":authority", "x") +
                   Header("te", "trailers") + Header("content-type", "application/grpc")));
  }
  void Message(uint32_t stream, const std::string& message) {
    Send(Frame(0, 1, stream, std::string(1, '\0') + Word(static_cast<uint32_t>(message.size())) + message));
  }

  // Blocks until the server sends something; false: it has closed the connection.
  bool ReadsSomething() {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) == 1;
  }
  // Without waiting: whether the server has not closed it.
  bool IsOpen() {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
  }
  // Reads on to the end of what the server sends.
  void ReadToEnd() {
    char bytes[4096];
    while (recv(fd_, bytes, sizeof(bytes), 0) > 0) {
    }
  }

 private:
  static std::string Word(uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  }
  static std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
    return Word(static_cast<uint32_t>(payload.size())).substr(1) + type + flags + Word(stream) + payload;
  }
  // A literal, without indexing or Huffman code.
  static std::string Header(const std::string& name, const std::string& value) {
    return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) +
           value;
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  int fd_;
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_RAW_HTTP2_H_

// The real program, as a child, and what it says on standard error.
#ifndef TRELLIS_TESTS_SERVE_GRPC_RUNNING_SERVER_H_
#define TRELLIS_TESTS_SERVE_GRPC_RUNNING_SERVER_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace trellis::server {

class RunningServer {
 public:
  // `environment`: NAME=value, beside our own.
  explicit RunningServer(std::vector<std::string> arguments,
                         const std::vector<std::string>& environment = {}) {
    int out[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    arguments.insert(arguments.begin(), TRELLIS_SERVER_PROGRAM);
    std::vector<char*> argv, envp;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    for (const std::string& variable : environment) envp.push_back(const_cast<char*>(variable.c_str()));
    for (char** variable = environ; *variable != nullptr; ++variable) envp.push_back(*variable);
    envp.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, TRELLIS_SERVER_PROGRAM, &actions, nullptr, argv.data(), envp.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    output_ = fdopen(out[0], "r");
  }
  ~RunningServer() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    fclose(output_);
  }
  RunningServer(const RunningServer&) = delete;

  // Reads on until a line has `text` in it, and returns that line; empty when the program has ended without.
  std::string ReadUntil(const std::string& text) {
    char* line = nullptr;
    size_t capacity = 0;
    std::string found;
    while (found.empty() && getline(&line, &capacity, output_) > 0) {
      said_ += line;
      if (said_.ends_with('\n') && std::string(line).find(text) != std::string::npos) found = line;
    }
    free(line);
    return found;
  }

  // The port in the next line that has `text` in it.
  int ReadPort(const std::string& text) {
    const std::string line = ReadUntil(text);
    EXPECT_FALSE(line.empty()) << said_;
    return line.empty() ? 0 : std::stoi(line.substr(line.rfind(':') + 1));
  }

  // The most memory that it has had so far.
  int64_t PeakKilobytes() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
    }
    ADD_FAILURE() << "no VmHWM of " << pid_;
    return 0;
  }

  void Signal(int number) { EXPECT_EQ(kill(pid_, number), 0); }

  // Its exit status; 1000 and more where a signal killed it.
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  // All that was read so far.
  const std::string& said() const { return said_; }

 private:
  pid_t pid_ = 0;
  FILE* output_ = nullptr;
  std::string said_;
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_RUNNING_SERVER_H_

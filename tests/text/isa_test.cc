// TRELLIS_ISA is read once a process, so each value is tried in a process of its
// own: this program runs itself.
#include "trellis/internal/text/isa.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

namespace trellis::internal {
namespace {

constexpr int kCannotRun = 250;

// Runs this program with what is in the child's environment; its exit status.
int StatusOf(const std::optional<std::string>& value) {
  const pid_t child = fork();
  if (child == 0) {
    if (value) {
      setenv("TRELLIS_ISA", value->c_str(), 1);
    } else {
      unsetenv("TRELLIS_ISA");
    }
    setenv("TRELLIS_ISA_TEST_REPORTS", "1", 1);
    execl("/proc/self/exe", "isa_test", "--gtest_filter=IsaReport.Reports", "--gtest_brief=1", nullptr);
    _exit(kCannotRun);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

// What ActiveIsa says in a fresh process with this value; nullopt: unset.
Isa ActiveWith(const std::optional<std::string>& value) {
  const int status = StatusOf(value);
  EXPECT_TRUE(status >= 100 && status < 110) << status;
  return static_cast<Isa>(status - 100);
}

class IsaByVariable : public testing::Test {
 protected:
  void SetUp() override {
    // Under qemu-user the kernel is asked to run another machine's program.
    if (StatusOf(std::nullopt) == kCannotRun) GTEST_SKIP() << "this machine cannot run this program by itself";
  }
};

TEST(IsaReport, Reports) {
  if (std::getenv("TRELLIS_ISA_TEST_REPORTS") == nullptr) GTEST_SKIP() << "only as a child of the tests below";
  _exit(100 + static_cast<int>(ActiveIsa()));
}

TEST_F(IsaByVariable, TheVariableForcesALesserOneNeverABetterOne) {
  const Isa best = ActiveWith(std::nullopt);
  EXPECT_EQ(ActiveWith("portable"), Isa::kPortable);
  EXPECT_EQ(ActiveWith("avx512"), best == Isa::kAvx512 ? Isa::kAvx512 : best);
  if (best == Isa::kAvx512 || best == Isa::kAvx2) {
    EXPECT_EQ(ActiveWith("avx2"), Isa::kAvx2);
  }
}

// A kind of processor's own kernel is never taken on another.
TEST_F(IsaByVariable, AnotherProcessorsIsaIsNotTaken) {
  const Isa best = ActiveWith(std::nullopt);
#if defined(__x86_64__)
  EXPECT_NE(ActiveWith("neon"), Isa::kNeon);
  (void)best;
#else
  EXPECT_NE(ActiveWith("avx2"), Isa::kAvx2);
  EXPECT_NE(ActiveWith("avx512"), Isa::kAvx512);
  (void)best;
#endif
}

TEST_F(IsaByVariable, AnUnknownValueIsIgnored) {
  const Isa best = ActiveWith(std::nullopt);
  for (const char* value : {"", "sse", "AVX2", "avx2 ", "avx"}) EXPECT_EQ(ActiveWith(value), best) << value;
}

TEST(Isa, NamesDiffer) {
  const std::array<Isa, 4> all = {Isa::kPortable, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};
  for (const Isa a : all) {
    for (const Isa b : all) EXPECT_EQ(IsaName(a) == IsaName(b), a == b);
  }
}

}  // namespace
}  // namespace trellis::internal

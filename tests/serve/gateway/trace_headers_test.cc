// traceparent and tracestate: the examples of W3C Trace Context, level 2 (sections 3.2 and 3.3), and what its
// rules refuse.
#include "serve/gateway/trace_headers.h"

#include <gtest/gtest.h>

#include <string>

namespace trellis::gateway {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";

TEST(TraceParent, NamesItsTrace) {
  EXPECT_EQ(TraceId("00-" + kTrace + "-" + kParent + "-01"), kTrace);
  EXPECT_EQ(TraceId("00-" + kTrace + "-" + kParent + "-00"), kTrace);
  EXPECT_EQ(TraceId("00-" + kTrace + "-" + kParent + "-ff"), kTrace) << "unknown flags";
  EXPECT_EQ(TraceId("cc-" + kTrace + "-" + kParent + "-01"), kTrace) << "a later version";
  EXPECT_EQ(TraceId("cc-" + kTrace + "-" + kParent + "-01-what-the-future-will-be-like"), kTrace);
}

TEST(TraceParent, AnyOtherFormIsNone) {
  for (const std::string& wrong :
       {std::string(), std::string("00"), "00-" + kTrace + "-" + kParent, kTrace,
        "ff-" + kTrace + "-" + kParent + "-01", "0-" + kTrace + "-" + kParent + "-011",
        "00-" + std::string(32, '0') + "-" + kParent + "-01",
        "00-" + kTrace + "-" + std::string(16, '0') + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + kParent + "-01", "00-" + kTrace + "-00F067AA0BA902B7-01",
        "00-" + kTrace + "-" + kParent + "-0x", "00-" + kTrace + "-" + kParent + "-01-",
        "00_" + kTrace + "-" + kParent + "-01", "00-" + kTrace + "-" + kParent + "-01 ",
        "cc-" + kTrace + "-" + kParent + "-01.what", "cc-" + kTrace + "-" + kParent + "-01-\n",
        "cc-" + kTrace + "-" + kParent + "-01-" + std::string(5000, 'a'),
        // Two headers in one request, put together as a list.
        "00-" + kTrace + "-" + kParent + "-01,00-" + kTrace + "-" + kParent + "-01"}) {
    EXPECT_EQ(TraceId(wrong), "") << wrong;
  }
}

TEST(TraceState, ListsOfKeysAndValues) {
  for (const char* right :
       {"rojo=00f067aa0ba902b7", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "fw529a3039@dt=FfAqrMN;x:0",
        "a=1 , b=2,,", "vendor_name-with*all/of=~!\"#$%&'()*+-./:;<>?@[]^_`{|}", "0a=in the middle"}) {
    EXPECT_TRUE(IsTraceState(right)) << right;
  }
  for (const std::string& wrong :
       {std::string(), std::string(","), std::string("a"), std::string("a="), std::string("=1"),
        std::string("A=1"), std::string("a=1=2"), std::string("a b=1"), std::string("a=\x01"),
        std::string("a=\xc3\xa4"), std::string("_a=1"), std::string(257, 'a') + "=1",
        "a=" + std::string(257, 'a')}) {
    EXPECT_FALSE(IsTraceState(wrong)) << wrong;
  }
}

TEST(TraceState, OfAtMost32Members) {
  std::string list = "k0=v";
  for (int i = 1; i < 32; ++i) list += ",k" + std::to_string(i) + "=v";
  EXPECT_TRUE(IsTraceState(list));
  EXPECT_FALSE(IsTraceState(list + ",k32=v"));
  EXPECT_FALSE(IsTraceState("a=" + std::string(200, 'b') + std::string(3000, ',')))
      << "too long for a call's headers";
}

}  // namespace
}  // namespace trellis::gateway

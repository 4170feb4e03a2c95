// The page at "/": who gets it, with which headers, and that it is whole. What it does in a browser:
// page/page_test.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "serve/gateway/page_files.h"
#include "serve/gateway/routes.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/loopback.h"

namespace trellis::gateway {
namespace {

// As Chromium 156 and Firefox send it for a page.
const std::string kBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

HttpRequest PageRequest(const std::string& path, const std::string& accept = kBrowser) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.accept = accept;
  return request;
}

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Page, IsForBrowsersAndHealthForOthers) {
  TinyGateway tiny("tiny-bert");
  const HttpResponse loading = tiny.Send(PageRequest("/"));
  EXPECT_EQ(loading.status, 200) << "the page itself says that the model is being loaded";
  EXPECT_EQ(loading.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(tiny.Send(PageRequest("/", "*/*")).status, 503);
  tiny.Open();
  EXPECT_EQ(tiny.Send(PageRequest("/", "Text/HTML")).content_type, "text/html; charset=utf-8");
  for (const char* accept : {"", "*/*", "application/json"}) {
    const HttpResponse health = tiny.Send(PageRequest("/", accept));
    EXPECT_EQ(health.body, "{\"status\":\"ok\"}") << accept;
    EXPECT_EQ(Header(health, "Vary"), "Accept") << "or a cache gives the one to who wants the other";
  }
  EXPECT_EQ(Header(loading, "Vary"), "Accept");
}

TEST(Page, EveryFileOfTheFolderIsThereAsItIs) {
  TinyGateway tiny("tiny-bert");
  const std::filesystem::path folder = TRELLIS_SOURCE_DIR "/serve/gateway/page";
  size_t files = 0;
  std::set<std::string> tags;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    const std::string name = entry.path().filename();
    const HttpResponse response = tiny.Send(PageRequest(name == "index.html" ? "/" : "/page/" + name));
    EXPECT_EQ(response.status, 200) << name;
    EXPECT_EQ(response.body, FileText(entry.path())) << name;
    tags.insert(Header(response, "ETag"));
    // Scripts, styles and answers of the gateway itself only, and in nobody's frame.
    const std::string policy = Header(response, "Content-Security-Policy");
    for (const char* part : {"default-src 'none'", "script-src 'self'", "style-src 'self'",
                             "connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'"})
      EXPECT_NE(policy.find(part), std::string::npos) << part;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(Header(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(Header(response, "Referrer-Policy"), "no-referrer");
    EXPECT_FALSE(Header(response, "x-request-id").empty());
  }
  EXPECT_EQ(files, PageFiles().size());
  EXPECT_EQ(tags.size(), files);
  EXPECT_EQ(tiny.Send(PageRequest("/page/page.css")).content_type, "text/css; charset=utf-8");
  EXPECT_EQ(tiny.Send(PageRequest("/page/page.js")).content_type, "text/javascript; charset=utf-8");
}

// Relative, so that a proxy may put the page below a path of its own; and there.
TEST(Page, WhatItLoadsIsServedHere) {
  size_t found = 0;
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    const std::regex named(R"re((?:href=|src=|from )"([^"]*)")re");
    for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
      const std::string target = (*at)[1];
      const bool module = target.starts_with("./");
      EXPECT_TRUE(FindRoute("GET", module ? "/page/" + target.substr(2) : '/' + target).ok())
          << file.path << ": " << target;
      ++found;
    }
    const size_t outside = text.find("://");
    if (outside != std::string::npos) {
      EXPECT_TRUE(text.find("http://www.w3.org/2000/svg") == outside - 4) << file.path;  // a name, not loaded
      EXPECT_EQ(text.find("://", outside + 1), std::string::npos) << file.path;
    }
  }
  EXPECT_GE(found, 12u);
}

TEST(Page, NeedsNoKeyAndWhatItAsksDoes) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.api_keys = {"secret"}; });
  tiny.Open();
  for (const PageFile& file : PageFiles())
    EXPECT_EQ(tiny.Send(PageRequest(std::string(file.path))).status, 200) << file.path;
  EXPECT_EQ(tiny.Send(PageRequest("/info")).status, 401);
}

TEST(Page, IsNotSentAgainToWhoHasIt) {
  TinyGateway tiny("tiny-bert");
  for (const PageFile& file : PageFiles()) {
    HttpRequest again = PageRequest(std::string(file.path));
    for (const std::string& tags : {std::string(file.entity_tag), "W/" + std::string(file.entity_tag),
                                    "\"another\", " + std::string(file.entity_tag), std::string("*")}) {
      again.if_none_match = tags;
      const HttpResponse response = tiny.Send(again);
      EXPECT_EQ(response.status, 304) << tags;
      EXPECT_EQ(response.body, "");
      EXPECT_EQ(Header(response, "ETag"), file.entity_tag);
    }
    again.if_none_match = "\"another\"";
    EXPECT_EQ(tiny.Send(again).status, 200);
  }
}

TEST(Page, NothingElseIsBelowItsPath) {
  TinyGateway tiny("tiny-bert");
  for (const char* path : {"/page", "/page/", "/page/index.html", "/page/../README.md", "/page/none.js"})
    EXPECT_EQ(tiny.Send(PageRequest(path)).status, 404) << path;
  HttpRequest post = PageRequest("/page/page.js");
  post.method = "POST";
  const HttpResponse refused = tiny.Send(post);
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(Header(refused, "Allow"), "GET");
  for (const Route& route : Routes()) EXPECT_NE(route.page, Page::kPageFile) << "not of the API";
}

TEST(Page, CountsAsItsRoot) {
  TinyGateway tiny("tiny-bert");
  tiny.Send(PageRequest("/page/page.js"));
  tiny.Send(PageRequest("/"));
  HttpRequest again = PageRequest("/");
  again.if_none_match = "*";
  tiny.Send(again);
  const std::string metrics = tiny.Get("/metrics").body;
  EXPECT_NE(metrics.find("trellis_http_requests_total{code=\"200\",route=\"/\"} 2\n"), std::string::npos);
  EXPECT_NE(metrics.find("trellis_http_requests_total{code=\"304\",route=\"/\"} 1\n"), std::string::npos);
}

TEST(Page, OverHttp) {
  Loopback loopback;
  HttpClient client(loopback.port());
  const std::string accept = "Accept: application/xml\r\nAccept: text/html\r\n";
  const auto ask = [&](const std::string& method, const std::string& path, const std::string& headers) {
    client.Send(method + ' ' + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
    return client.Read(method);
  };
  const HttpAnswer page = ask("GET", "/?from=bookmark", accept);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.Header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body, FindPageFile("/")->text);
  const HttpAnswer head = ask("HEAD", "/", accept);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("content-length"), std::to_string(page.body.size()));
  EXPECT_EQ(head.Header("etag"), page.Header("etag"));
  // RFC 9110, 15.4.5: its length would be that of the page, so there is none; and the connection goes on.
  const HttpAnswer same = ask("GET", "/", accept + "If-None-Match: " + page.Header("etag") + "\r\n");
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.Header("content-length"), "");
  EXPECT_EQ(same.Header("etag"), page.Header("etag"));
  EXPECT_EQ(client.Get("/health").status, 200);
}

}  // namespace
}  // namespace trellis::gateway

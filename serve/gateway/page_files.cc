#include "serve/gateway/page_files.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace trellis::gateway {
namespace {

constexpr PageFile kFiles[] = {
#include "serve/gateway/page_files.inc"
};

// All that the page needs comes from here, and nobody else may frame it or be sent what is typed into it.
constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

const PageFile* FindPageFile(std::string_view path) {
  for (const PageFile& file : kFiles) {
    if (path == file.path) return &file;
  }
  return nullptr;
}

bool WantsPage(const HttpRequest& request) {
  return absl::StrContains(absl::AsciiStrToLower(request.accept), "text/html");
}

HttpResponse AnswerPageFile(const PageFile& file, const HttpRequest& request) {
  HttpResponse response;
  response.headers = {{"ETag", file.entity_tag},
                      // Kept, and asked for again each time: a new program may have a new page.
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", kContentSecurityPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  if (file.path == "/") response.headers.emplace_back("Vary", "Accept");
  // A list of tags, weak ones too, or *.
  if (absl::StrContains(request.if_none_match, file.entity_tag) || request.if_none_match == "*") {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  response.content_type = file.content_type;
  response.body = std::string(file.text);
  return response;
}

}  // namespace trellis::gateway

// The page at "/": what lies in page/, in the program since it was built, and how it is answered. It holds
// nothing that is secret, so it needs no key; what it asks for then does.
#ifndef TRELLIS_SERVE_GATEWAY_PAGE_FILES_H_
#define TRELLIS_SERVE_GATEWAY_PAGE_FILES_H_

#include <span>
#include <string_view>

#include "serve/gateway/http_message.h"

namespace trellis::gateway {

struct PageFile {
  std::string_view path;
  const char* content_type;
  const char* entity_tag;  // with its quotes
  std::string_view text;
};

std::span<const PageFile> PageFiles();
const PageFile* FindPageFile(std::string_view path);  // null: none of them

// Whether who asks for "/" is a browser; monitors and clients of text-embeddings-inference ask there for
// health.
bool WantsPage(const HttpRequest& request);

HttpResponse AnswerPageFile(const PageFile& file, const HttpRequest& request);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_PAGE_FILES_H_

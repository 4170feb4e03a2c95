#include "serve/gateway/backend_set.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

constexpr std::string_view kScheme = "dns:";

absl::StatusOr<HostName> NameOf(std::string_view backend) {
  std::string_view rest = backend.substr(kScheme.size());
  if (rest.starts_with("///")) rest.remove_prefix(3);
  const size_t colon = std::min(rest.rfind(':'), rest.size());
  const std::string_view digits = rest.substr(std::min(colon + 1, rest.size()));
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_port = error == std::errc() && end == digits.data() + digits.size() && port > 0;
  if (colon == 0 || !is_port || rest.find_first_of("/[]:") < colon)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(backend), "\", expected dns:///NAME:PORT"));
  return HostName{std::string(rest.substr(0, colon)), absl::StrCat(port)};
}

}  // namespace

absl::StatusOr<BackendSet> BackendSet::Parse(const std::vector<std::string>& backends) {
  BackendSet set;
  std::set<std::string> seen;
  for (const std::string& backend : backends) {
    if (backend.empty()) return absl::InvalidArgumentError("an address is empty, expected HOST:PORT");
    std::string key = backend;
    if (backend.starts_with(kScheme)) {
      absl::StatusOr<HostName> name = NameOf(backend);
      if (!name.ok()) return name.status();
      key = absl::StrCat(std::string(kScheme), name->host, ":", name->port);
      set.names_.push_back(*std::move(name));
    } else {
      set.fixed_.push_back(backend);
    }
    if (!seen.insert(key).second)
      return absl::InvalidArgumentError(
          absl::StrCat("an address twice, \"", backend, "\", expected different ones"));
  }
  set.found_.resize(set.names_.size());
  return set;
}

void BackendSet::Resolved(size_t name, std::vector<std::string> addresses) {
  if (!addresses.empty()) found_[name] = std::move(addresses);
}

std::vector<std::string> BackendSet::Addresses() const {
  std::vector<std::string> all = fixed_;
  for (const auto& found : found_) {
    for (const std::string& address : found) {
      if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
    }
  }
  return all;
}

}  // namespace trellis::gateway

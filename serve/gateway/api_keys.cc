#include "serve/gateway/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace trellis::gateway {

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) digests_.push_back(Of(key));
}

ApiKeys::Digest ApiKeys::Of(std::string_view key) {
  Digest digest;
  static_assert(SHA256_DIGEST_LENGTH == sizeof(digest));
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

bool ApiKeys::Admit(std::string_view authorization) const {
  if (empty()) return true;
  constexpr std::string_view kScheme = "Bearer ";
  const absl::string_view scheme(authorization.data(), std::min(authorization.size(), kScheme.size()));
  if (!absl::EqualsIgnoreCase(scheme, absl::string_view(kScheme.data(), kScheme.size()))) return false;
  const Digest given = Of(authorization.substr(kScheme.size()));
  int equal = 0;
  for (const Digest& digest : digests_)
    equal |= static_cast<int>(CRYPTO_memcmp(digest.data(), given.data(), given.size()) == 0);
  return equal != 0;
}

}  // namespace trellis::gateway

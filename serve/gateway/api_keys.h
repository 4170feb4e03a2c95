// Who may come in.
#ifndef TRELLIS_SERVE_GATEWAY_API_KEYS_H_
#define TRELLIS_SERVE_GATEWAY_API_KEYS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::gateway {

class ApiKeys {
 public:
  explicit ApiKeys(const std::vector<std::string>& keys);

  bool empty() const { return digests_.empty(); }
  // `authorization` is the header as it came, "Bearer KEY". The time this takes tells nothing about the keys:
  // digests are compared, all of each, with all keys.
  bool Admit(std::string_view authorization) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest Of(std::string_view key);

  std::vector<Digest> digests_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_API_KEYS_H_

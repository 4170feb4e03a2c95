// JSON, appended to a string. The caller writes the punctuation; what needs care is here: strings that may
// hold any bytes, and numbers that read back as the same float.
#ifndef TRELLIS_SERVE_GATEWAY_JSON_TEXT_H_
#define TRELLIS_SERVE_GATEWAY_JSON_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trellis::gateway {

class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}

  JsonText& Raw(std::string_view json) {
    out_.append(json);
    return *this;
  }
  // Quoted and escaped. Bytes that are no UTF-8 become U+FFFD: a client's own odd bytes, quoted back in a
  // message, must not make the answer unreadable.
  JsonText& String(std::string_view text);
  JsonText& Integer(int64_t value);
  // The shortest that reads back as the same f32. Only for finite values.
  JsonText& Float(float value);
  JsonText& Floats(std::span<const float> values);  // an array
  // The values' bytes, little-endian, as one base64 string.
  JsonText& Base64(std::span<const float> values);

 private:
  std::string& out_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_JSON_TEXT_H_

// What requests and answers look like, in JSON Schema, for /openapi.json. routes.cc says which route has
// which.
#ifndef TRELLIS_SERVE_GATEWAY_OPENAPI_SCHEMAS_H_
#define TRELLIS_SERVE_GATEWAY_OPENAPI_SCHEMAS_H_

#include <cstdint>
#include <span>

namespace trellis::gateway {

// A field of a request's body. One that is optional may be null too.
struct SchemaField {
  enum class Presence : uint8_t { kOptional, kRequired };

  const char* name;
  Presence presence;
  const char* json;  // its schema
  const char* what;  // one line, for people
};

// Either the fields of an object, which may have others that are ignored, or a schema as it is.
struct NamedSchema {
  const char* name;
  std::span<const SchemaField> fields;
  const char* json;
};

// Bodies of requests and their parts, and what answers and errors have. No name is in both.
std::span<const NamedSchema> RequestSchemas();
std::span<const NamedSchema> AnswerSchemas();

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_OPENAPI_SCHEMAS_H_

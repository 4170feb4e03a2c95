// An object of JSON on a line of stdout, which is there for the reader at once: whoever is stopped half-way
// has said what it knows.
#ifndef TRELLIS_BENCH_SERVE_GPU_JSON_LINE_H_
#define TRELLIS_BENCH_SERVE_GPU_JSON_LINE_H_

#include <cstdint>
#include <string>

namespace trellis::engine {

// Keys are plain words.
class JsonLine {
 public:
  JsonLine& Text(const char* key, const std::string& value);
  JsonLine& Count(const char* key, int64_t value);
  JsonLine& Number(const char* key, double value);  // six digits; null for what is none
  JsonLine& Flag(const char* key, bool value);
  JsonLine& Raw(const char* key, const std::string& json);
  void Print();

 private:
  std::string line_;
};

}  // namespace trellis::engine

#endif  // TRELLIS_BENCH_SERVE_GPU_JSON_LINE_H_

// encode_one MODEL TEXT: prints the ids, space-separated, and the decoded text on a line of its own.
#include <iostream>

#include "trellis/trellis.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "encode_one MODEL TEXT\n";
    return 2;
  }
  const auto tokenizer = trellis::LoadTokenizer(argv[1]);
  if (!tokenizer.ok()) {
    std::cerr << tokenizer.status() << '\n';
    return 1;
  }
  const auto encoded = tokenizer->Encode(argv[2]);
  if (!encoded.ok()) {
    std::cerr << encoded.status() << '\n';
    return 1;
  }
  const char* separator = "";
  for (const trellis::TokenId id : encoded->ids) {
    std::cout << separator << id;
    separator = " ";
  }
  std::cout << '\n' << tokenizer->Decode(encoded->ids) << '\n';
}

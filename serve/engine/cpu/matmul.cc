#include "serve/engine/cpu/matmul.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"

// Of the OpenMP run-time library that oneDNN is linked with; there is nothing of OpenMP in our own code.
extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_max_threads();

namespace trellis::engine::cpu {
namespace {

using Type = dnnl::memory::data_type;
using Desc = dnnl::memory::desc;

// A caller's thread is given back as it was.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  const int before_;
};

Type InputType(Precision precision) {
  if (precision == Precision::kF32) return Type::f32;
  return precision == Precision::kBf16 ? Type::bf16 : Type::u8;
}
Type WeightType(Precision precision) {
  if (precision == Precision::kF32) return Type::f32;
  return precision == Precision::kBf16 ? Type::bf16 : Type::s8;
}
Type OutputType(Output output) {
  if (output == Output::kF32) return Type::f32;
  return output == Output::kBf16 ? Type::bf16 : Type::s32;
}
dnnl::algorithm AlgorithmOf(Activation activation) {
  if (activation == Activation::kGelu) return dnnl::algorithm::eltwise_gelu_erf;
  return activation == Activation::kGeluTanh ? dnnl::algorithm::eltwise_gelu_tanh
                                             : dnnl::algorithm::eltwise_relu;
}

Desc BiasDesc(int out) { return Desc({1, out}, Type::f32, dnnl::memory::format_tag::ab); }

dnnl::matmul::primitive_desc Describe(const dnnl::engine& engine, const MatmulShape& shape, int rows,
                                      const Desc& weight) {
  const Desc in({rows, shape.in}, InputType(shape.precision), dnnl::memory::format_tag::ab);
  const Desc out({rows, shape.out}, OutputType(shape.output), dnnl::memory::dims{shape.out_stride, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.activation.has_value()) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, AlgorithmOf(*shape.activation), 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  const auto desc = shape.output == Output::kInt32 ? dnnl::matmul::desc(in, weight, out)
                                                   : dnnl::matmul::desc(in, weight, BiasDesc(shape.out), out);
  return dnnl::matmul::primitive_desc(desc, attributes, engine);
}

bool Has(dnnl::cpu_isa isa) {
  // Each is a set of bits that holds those of the lesser ones.
  const auto bits = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

void UseOneThreadHere() { omp_set_num_threads(1); }

bool HasProducts(Precision precision) {
  return Has(precision == Precision::kF32    ? dnnl::cpu_isa::sse41
             : precision == Precision::kBf16 ? dnnl::cpu_isa::avx512_core_bf16
                                             : dnnl::cpu_isa::avx512_core_vnni);
}

bool AllowsAmx() { return Has(dnnl::cpu_isa::avx512_core_amx); }

int RowsStep(int rows) {
  const int step = rows <= 128 ? 16 : 32;
  return (rows + step - 1) / step * step;
}

struct PackedWeight::Memory {
  dnnl::memory weight, bias;
};
PackedWeight::PackedWeight(std::unique_ptr<Memory> memory) : memory_(std::move(memory)) {}
PackedWeight::PackedWeight(PackedWeight&&) noexcept = default;
PackedWeight& PackedWeight::operator=(PackedWeight&&) noexcept = default;
PackedWeight::~PackedWeight() = default;

struct Matmuls::Made {
  // With what one thread calls it: oneDNN's memory objects hold a pointer, so each thread has its own.
  struct Place {
    dnnl::memory in, out, scratch;
  };
  struct Product {
    dnnl::matmul run;
    std::vector<Place> places;
  };

  explicit Made(int n) : threads(n), engine(dnnl::engine::kind::cpu, 0) {
    for (int i = 0; i < n; ++i) streams.emplace_back(engine);
  }

  // Of the longest product; all others are made for the same order.
  Desc WeightDesc(const MatmulShape& shape) {
    const Desc any({shape.in, shape.out}, WeightType(shape.precision), dnnl::memory::format_tag::any);
    return Describe(engine, shape, kMostRows, any).weights_desc();
  }

  Product& Find(const MatmulShape& shape, int rows, const Desc& weight) {
    const std::pair<MatmulShape, int> key(shape, rows);
    {
      const std::shared_lock lock(mutex);
      if (const auto found = products.find(key); found != products.end()) return *found->second;
    }
    const std::unique_lock lock(mutex);
    std::unique_ptr<Product>& product = products[key];
    if (product == nullptr) {
      const OneThread guard;
      const auto described = Describe(engine, shape, rows, weight);
      auto made = std::make_unique<Product>();
      made->run = dnnl::matmul(described);
      for (int i = 0; i < threads; ++i) {
        made->places.push_back({dnnl::memory(described.src_desc(), engine, nullptr),
                                dnnl::memory(described.dst_desc(), engine, nullptr),
                                dnnl::memory(described.scratchpad_desc(), engine)});
      }
      product = std::move(made);
    }
    return *product;
  }

  // `from` is [out, in], row-major.
  absl::StatusOr<PackedWeight> Pack(const MatmulShape& shape, const void* from, Type type,
                                    std::span<const float> bias) {
    try {
      const OneThread guard;
      auto packed = std::make_unique<PackedWeight::Memory>();
      packed->weight = dnnl::memory(WeightDesc(shape), engine);
      dnnl::memory plain(Desc({shape.in, shape.out}, type, dnnl::memory::dims{1, shape.in}), engine,
                         const_cast<void*>(from));
      dnnl::stream stream(engine);
      dnnl::reorder(plain, packed->weight).execute(stream, plain, packed->weight);
      stream.wait();
      if (!bias.empty()) {
        packed->bias = dnnl::memory(BiasDesc(shape.out), engine);
        std::copy(bias.begin(), bias.end(), static_cast<float*>(packed->bias.get_data_handle()));
      }
      return PackedWeight(std::move(packed));
    } catch (const dnnl::error& error) {
      return absl::InternalError(absl::StrCat("oneDNN: weight [", shape.out, ", ", shape.in, "] in ",
                                              std::string(NameOf(shape.precision)), ": ", error.what()));
    }
  }

  const int threads;
  dnnl::engine engine;
  std::vector<dnnl::stream> streams;
  mutable std::shared_mutex mutex;
  std::map<std::pair<MatmulShape, int>, std::unique_ptr<Product>> products;
};

Matmuls::Matmuls(int threads) : made_(std::make_unique<Made>(threads)) {}
Matmuls::~Matmuls() = default;

absl::StatusOr<PackedWeight> Matmuls::Pack(const MatmulShape& shape, std::span<const float> weight,
                                           std::span<const float> bias) {
  return made_->Pack(shape, weight.data(), Type::f32, bias);
}
absl::StatusOr<PackedWeight> Matmuls::Pack(const MatmulShape& shape, std::span<const int8_t> weight) {
  return made_->Pack(shape, weight.data(), Type::s8, {});
}

void Matmuls::Run(const MatmulShape& shape, const PackedWeight& weight, const void* in, int rows, void* out,
                  int thread) {
  const PackedWeight::Memory& packed = weight.memory();
  Made::Product& product = made_->Find(shape, RowsStep(rows), packed.weight.get_desc());
  Made::Place& place = product.places[static_cast<size_t>(thread)];
  place.in.set_data_handle(const_cast<void*>(in));
  place.out.set_data_handle(out);
  // By the C interface: the C++ one would make a hash map for each call.
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, place.in.get()},
                                  {DNNL_ARG_WEIGHTS, packed.weight.get()},
                                  {DNNL_ARG_DST, place.out.get()},
                                  {DNNL_ARG_SCRATCHPAD, place.scratch.get()}};
  int count = 4;
  if (packed.bias) arguments[count++] = {DNNL_ARG_BIAS, packed.bias.get()};
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(product.run.get(), made_->streams[static_cast<size_t>(thread)].get(), count,
                             arguments),
      "could not execute a matmul");
}

int Matmuls::made() const {
  const std::shared_lock lock(made_->mutex);
  return static_cast<int>(made_->products.size());
}

}  // namespace trellis::engine::cpu

// An emulated libcublasLt.so.13: descriptions and algorithms. What a program does that the real
// library would not answer for is a misuse (tests/emulation/misuse.h); what the real library
// refuses is refused with its status.
#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <string>

#include "tests/emulation/cublaslt/driver.h"
#include "tests/emulation/cublaslt/product.h"

namespace cgraph::cuda {

// Declared as our table has them, defined under the library's names.
#define FUNCTION(name, parameters) extern "C" int name parameters;
#include "runtime/device/cuda/libraries/cublaslt.def"
#undef FUNCTION
extern "C" size_t cublasLtGetVersion();

namespace {

using namespace emulation;

enum Outcome : int {  // cublasStatus_t
  kDone = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

void Misuse(const std::string& sentence) {
  if (const Control* control = TheControl()) control->misuse(("cuBLASLt: " + sentence).c_str());
}

template <typename Object>
bool Lives(const Object* object, const char* what) {
  if (object != nullptr && object->lives) return true;
  Misuse(fmt::format("{} is used that was destroyed, or never made", what));
  return false;
}

template <typename Object>
Object* Keep(Object object) {
  // Never freed, and never lost: LeakSanitizer finds all through the static pointer.
  static std::deque<Object>* const kept = new std::deque<Object>;
  std::lock_guard lock(TheLtMachine().mutex);
  return &kept->emplace_back(object);
}
template <typename Object>
int Make(Object** object) {
  *object = Keep(Object());
  std::lock_guard lock(TheLtMachine().mutex);
  ++TheLtMachine().counts.objects;
  return kDone;
}
template <typename Object>
int Destroy(Object* object, const char* what) {
  if (!Lives(object, what)) return kInvalidValue;
  object->lives = false;
  std::lock_guard lock(TheLtMachine().mutex);
  --TheLtMachine().counts.objects;
  return kDone;
}

// Copies an attribute of the size that it must have.
template <typename T>
int Take(T& attribute, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) {
    Misuse(fmt::format("an attribute of {} bytes is given as {}", sizeof(T), bytes));
    return kInvalidValue;
  }
  std::memcpy(&attribute, value, sizeof(T));
  return kDone;
}

uint64_t Mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
struct Digest {
  uint64_t value = 1;
  void Add(uint64_t x) { value = Mixed(value * 0x9e3779b97f4a7c15u + x); }
  void Add(const LtLayoutObject& layout) {
    for (const int64_t x : {static_cast<int64_t>(layout.type), static_cast<int64_t>(layout.rows),
                            static_cast<int64_t>(layout.columns), layout.stride,
                            static_cast<int64_t>(layout.count), layout.batch_stride}) {
      Add(static_cast<uint64_t>(x));
    }
  }
};

// Returns whether the layouts are those of one product: a's and b's columns by the transposes.
bool Agree(const LtProductObject& product, const LtLayoutObject& a, const LtLayoutObject& b,
           const LtLayoutObject& c, const LtLayoutObject& d) {
  const bool transpose_a = product.transpose_a != 0, transpose_b = product.transpose_b != 0;
  const uint64_t m = transpose_a ? a.columns : a.rows, k = transpose_a ? a.rows : a.columns;
  const uint64_t n = transpose_b ? b.rows : b.columns, k_of_b = transpose_b ? b.columns : b.rows;
  for (const LtLayoutObject* layout : {&a, &b, &c, &d}) {
    if (layout->stride < static_cast<int64_t>(layout->rows)) {
      Misuse(fmt::format("columns of {} elements lie {} apart", layout->rows, layout->stride));
      return false;
    }
  }
  if (k == k_of_b && c.rows == m && c.columns == n && d.rows == m && d.columns == n &&
      a.count == d.count && b.count == d.count && c.count == d.count) {
    return true;
  }
  Misuse(fmt::format("{} x {} by {} x {} is to give {} x {}, in batches of {}, {}, {}", m, k,
                     k_of_b, n, d.rows, d.columns, a.count, b.count, d.count));
  return false;
}

// Returns whether the library has this combination of types.
bool Supports(const LtProductObject& product, const LtLayoutObject& a, const LtLayoutObject& b,
              const LtLayoutObject& c, const LtLayoutObject& d) {
  if (a.type != b.type || a.type != c.type || a.type != d.type) return false;
  if (a.type == lt::kF64) return product.compute == lt::kComputeF64 && product.scale == lt::kF64;
  return product.compute == lt::kComputeF32 && product.scale == lt::kF32;
}

// An algorithm as our own bits: data[0] says for what it was chosen.
struct Chosen {
  uint64_t digest;
  uint64_t workspace;
  uint64_t splits;
  uint64_t alignments[4];
  uint64_t mark;
};
static_assert(sizeof(Chosen) == sizeof(LtAlgorithm));
constexpr uint64_t kMark = 0x6c61726f67696c61;

Digest DigestOf(const LtProductObject& product, const LtLayoutObject& a, const LtLayoutObject& b,
                const LtLayoutObject& c, const LtLayoutObject& d) {
  Digest digest;
  for (const int x : {product.compute, product.scale, product.transpose_a, product.transpose_b}) {
    digest.Add(static_cast<uint64_t>(x));
  }
  for (const LtLayoutObject* layout : {&a, &b, &c, &d}) digest.Add(*layout);
  return digest;
}

bool IsAligned(const void* data, uint64_t bytes, const char* what) {
  if (reinterpret_cast<uintptr_t>(data) % bytes == 0) return true;
  Misuse(fmt::format("{} at {} is not aligned to {} bytes", what, data, bytes));
  return false;
}

bool IsUsable(LtHandle handle) {
  if (!Lives(handle, "a handle")) return false;
  if (TheCurrentContext() == handle->context) return true;
  Misuse("a handle is used while another context is current than when it was made");
  return false;
}

bool LayoutsLive(LtProduct product, std::initializer_list<LtLayout> layouts) {
  bool live = Lives(product, "a description");
  for (LtLayout layout : layouts) live = live && Lives(layout, "a layout");
  return live;
}

}  // namespace

size_t cublasLtGetVersion() { return TheLtOptions().version; }

int cublasLtCreate(LtHandle* handle) {
  const CUcontext context = TheCurrentContext();
  if (context == nullptr || TheLtOptions().refuses) return kNotInitialized;
  *handle = Keep(LtHandleObject{.context = context});
  std::lock_guard lock(TheLtMachine().mutex);
  ++TheLtMachine().counts.handles;
  return kDone;
}

int cublasLtDestroy(LtHandle handle) {
  if (!IsUsable(handle)) return kNotInitialized;
  handle->lives = false;
  std::lock_guard lock(TheLtMachine().mutex);
  --TheLtMachine().counts.handles;
  return kDone;
}

int cublasLtMatmulDescCreate(LtProduct* product, int compute_type, int scale_type) {
  Make(product);
  (*product)->compute = compute_type;
  (*product)->scale = scale_type;
  return kDone;
}
int cublasLtMatmulDescDestroy(LtProduct product) { return Destroy(product, "a description"); }
int cublasLtMatmulDescSetAttribute(LtProduct product, int attribute, const void* value,
                                   size_t bytes) {
  if (!Lives(product, "a description")) return kInvalidValue;
  if (attribute == lt::kTransposeA) return Take(product->transpose_a, value, bytes);
  if (attribute == lt::kTransposeB) return Take(product->transpose_b, value, bytes);
  return kNotSupported;
}

int cublasLtMatrixLayoutCreate(LtLayout* layout, int type, uint64_t rows, uint64_t columns,
                               int64_t stride) {
  Make(layout);
  (*layout)->type = type;
  (*layout)->rows = rows;
  (*layout)->columns = columns;
  (*layout)->stride = stride;
  return kDone;
}
int cublasLtMatrixLayoutDestroy(LtLayout layout) { return Destroy(layout, "a layout"); }
int cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void* value,
                                     size_t bytes) {
  if (!Lives(layout, "a layout")) return kInvalidValue;
  if (attribute == lt::kBatchCount) return Take(layout->count, value, bytes);
  if (attribute == lt::kBatchStride) return Take(layout->batch_stride, value, bytes);
  return kNotSupported;
}

int cublasLtMatmulPreferenceCreate(LtPreference* preference) { return Make(preference); }
int cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  return Destroy(preference, "a preference");
}
int cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute,
                                         const void* value, size_t bytes) {
  if (!Lives(preference, "a preference")) return kInvalidValue;
  if (attribute == lt::kMostWorkspace) return Take(preference->most_workspace, value, bytes);
  if (attribute == lt::kReductions) return Take(preference->reductions, value, bytes);
  for (int i = 0; i < 4; ++i) {
    if (attribute == lt::kLeastAlignments[i]) return Take(preference->alignments[i], value, bytes);
  }
  return kNotSupported;
}

// Now and then there is no algorithm, or one with a workspace of any size up to the most, as the
// seed decides.
int cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtProduct product, LtLayout a, LtLayout b,
                                   LtLayout c, LtLayout d, LtPreference preference, int wanted,
                                   LtHeuristic* found, int* count) {
  *count = 0;
  if (!IsUsable(handle) || !LayoutsLive(product, {a, b, c, d}) ||
      !Lives(preference, "a preference") || wanted < 1 || !Agree(*product, *a, *b, *c, *d)) {
    return kInvalidValue;
  }
  Digest digest = DigestOf(*product, *a, *b, *c, *d);
  Chosen chosen{.digest = digest.value, .workspace = 0, .splits = 1, .alignments = {},
                .mark = kMark};
  std::copy_n(preference->alignments, 4, chosen.alignments);
  digest.Add(TheLtOptions().seed);
  const uint64_t dice = digest.value;
  std::lock_guard lock(TheLtMachine().mutex);
  if (!Supports(*product, *a, *b, *c, *d) || dice % 8 == 0) {
    ++TheLtMachine().counts.refused;
    return kNotSupported;
  }
  std::memset(found, 0, sizeof(*found));
  *count = 1;
  if (dice % 8 == 1) {  // an entry whose own status says that it is none
    ++TheLtMachine().counts.refused;
    found->status = kNotSupported;
    return kDone;
  }
  ++TheLtMachine().counts.chosen;
  if (dice % 8 < 5) {
    const bool splits = (preference->reductions & lt::kReduceInComputeType) != 0;
    chosen.splits = splits ? 2 + dice / 64 % 3 : 1;
    chosen.workspace = std::min(preference->most_workspace, 1 + dice / 8 % 100000);
  }
  std::memcpy(&found->algorithm, &chosen, sizeof(chosen));
  found->workspace_bytes = chosen.workspace;
  found->waves = 1;
  return kDone;
}

int cublasLtMatmul(LtHandle handle, LtProduct product, const void* alpha, const void* a,
                   LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta,
                   const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                   const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
                   CUstream stream) {
  if (!IsUsable(handle) || !LayoutsLive(product, {a_layout, b_layout, c_layout, d_layout}) ||
      !Agree(*product, *a_layout, *b_layout, *c_layout, *d_layout)) {
    return kInvalidValue;
  }
  Chosen chosen;
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  if (chosen.mark != kMark ||
      chosen.digest != DigestOf(*product, *a_layout, *b_layout, *c_layout, *d_layout).value) {
    Misuse("a product is to be computed by an algorithm that was chosen for another one");
    return kInvalidValue;
  }
  if (workspace_bytes < chosen.workspace || (chosen.workspace != 0 && workspace == nullptr)) {
    Misuse(fmt::format("a workspace of {} bytes is given to an algorithm that needs {}",
                       workspace == nullptr ? 0 : workspace_bytes, chosen.workspace));
    return kInvalidValue;
  }
  if (!IsAligned(a, chosen.alignments[0], "a") || !IsAligned(b, chosen.alignments[1], "b") ||
      !IsAligned(c, chosen.alignments[2], "c") || !IsAligned(d, chosen.alignments[3], "d") ||
      (chosen.workspace != 0 && !IsAligned(workspace, 256, "a workspace"))) {
    return kInvalidValue;
  }
  {
    std::lock_guard lock(TheLtMachine().mutex);
    if (++TheLtMachine().counts.products == TheLtOptions().fail) return kExecutionFailed;
  }
  const auto scalar = [&](const void* number) {
    return product->scale == lt::kF64 ? *static_cast<const double*>(number)
                                      : static_cast<double>(*static_cast<const float*>(number));
  };
  const Product work{.description = *product,
                     .a = {*a_layout, a},
                     .b = {*b_layout, b},
                     .c = {*c_layout, c},
                     .d = {*d_layout, d},
                     .alpha = scalar(alpha),
                     .beta = scalar(beta),
                     .splits = static_cast<uint32_t>(chosen.splits)};
  LibraryWork issued;
  issued.name = fmt::format("a product of {} x {} by cuBLASLt", d_layout->rows, d_layout->columns);
  for (const Matrix* matrix : {&work.a, &work.b, &work.d}) {
    issued.memory.push_back({matrix->data, static_cast<uint64_t>(SpanOf(matrix->layout))});
  }
  if (work.beta != 0) issued.memory.push_back({c, static_cast<uint64_t>(SpanOf(*c_layout))});
  if (chosen.workspace != 0) issued.memory.push_back({workspace, chosen.workspace});
  issued.run = [work, workspace, bytes = chosen.workspace](uint64_t seed) {
    if (bytes != 0) std::memset(workspace, static_cast<int>(seed & 0xff), bytes);
    Compute(work);
  };
  return TheControl()->issue(stream, std::move(issued)) == CUDA_SUCCESS ? kDone : kExecutionFailed;
}

}  // namespace cgraph::cuda

# The GPU's kernels, of one text: for the GPU with TRELLIS_CUDA, and for the tests, emulated on this machine's processor. Both
# have the functions of kernels.h: a program links one of the two.
if(TRELLIS_TESTS)
  file(GLOB sources CONFIGURE_DEPENDS engine/cuda/emulation/*.cc engine/cuda/kernels/*.cc)
  add_library(trellis_cuda_emulated STATIC ${sources})
  target_include_directories(trellis_cuda_emulated PUBLIC ${PROJECT_SOURCE_DIR})
  if(TRELLIS_TSAN)
    # Fibers of one thread, on stacks that it does not know of.
    target_compile_options(trellis_cuda_emulated PRIVATE -fno-sanitize=thread)
  endif()
endif()

if(TRELLIS_CUDA)
  add_library(trellis_cuda_kernels STATIC engine/cuda/kernels/kernels.cu engine/cuda/kernels/attention_backends.cc)
  target_include_directories(trellis_cuda_kernels PUBLIC ${PROJECT_SOURCE_DIR})
  # A thread for each architecture.
  target_compile_options(trellis_cuda_kernels PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--threads=2;-Xcompiler=-Wall,-Wextra,-Wshadow>")
endif()

# The CUDA engine without its kernels (cuda_kernels.cmake): what needs no GPU and no toolkit; the GPU that is none, for the
# tests; and with TRELLIS_CUDA the real one, by the runtime, which g++ compiles.
file(GLOB sources CONFIGURE_DEPENDS engine/cuda/*.cc)
list(FILTER sources EXCLUDE REGEX "/(cuda_device(_[a-z]+)?|open_engine|open_no_engine)\\.cc$")
add_library(trellis_cuda STATIC ${sources})
target_include_directories(trellis_cuda PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(trellis_cuda PUBLIC trellis_engine absl::inlined_vector
  PRIVATE absl::strings Threads::Threads ${CMAKE_DL_LIBS})

if(TRELLIS_TESTS)
  file(GLOB sources CONFIGURE_DEPENDS engine/cuda/fake/*.cc)
  add_library(trellis_cuda_fake STATIC ${sources})
  target_link_libraries(trellis_cuda_fake PUBLIC trellis_cuda PRIVATE absl::strings)
endif()

if(TRELLIS_CUDA)
  file(GLOB sources CONFIGURE_DEPENDS engine/cuda/cuda_device*.cc)
  add_library(trellis_cuda_device STATIC ${sources})
  target_include_directories(trellis_cuda_device SYSTEM PRIVATE ${TRELLIS_CUDA_INCLUDE})
  target_link_libraries(trellis_cuda_device PUBLIC trellis_cuda
    PRIVATE ${TRELLIS_CUDART} absl::strings Threads::Threads ${CMAKE_DL_LIBS} rt)
endif()

# What a program links for OpenCudaEngine: the engine, or what says that there is none.
if(TRELLIS_CUDA)
  add_library(trellis_gpu STATIC engine/cuda/open_engine.cc)
  # The engine calls kernels and does not say whose; so the linker has to look twice.
  target_link_libraries(trellis_gpu PUBLIC "$<LINK_GROUP:RESCAN,trellis_cuda,trellis_cuda_kernels>"
    PRIVATE trellis_cuda_device)
  target_compile_definitions(trellis_gpu INTERFACE TRELLIS_CUDA)
else()
  add_library(trellis_gpu STATIC engine/cuda/open_no_engine.cc)
  target_link_libraries(trellis_gpu PUBLIC trellis_cuda PRIVATE absl::strings)
endif()

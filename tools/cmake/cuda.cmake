# NVIDIA's compiler, from TRELLIS_CUDA_TOOLKIT. Architectures and compiler have to be known before the language is: nvcc 13 no
# longer has what CMake 3.25 tries by itself. find_package(CUDAToolkit) is not for us: that CMake's looks for a library that
# CUDA 13 no longer has.
if(NOT EXISTS ${TRELLIS_CUDA_TOOLKIT}/bin/nvcc)
  message(FATAL_ERROR "TRELLIS_CUDA_TOOLKIT: ${TRELLIS_CUDA_TOOLKIT} has no bin/nvcc; tools/fetch_cuda makes one")
endif()
# Where tools/fetch_cuda has them, NVIDIA's installer, or a distribution.
set(trellis_cuda_libraries lib lib64 targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib targets/sbsa-linux/lib)
find_library(TRELLIS_CUDART libcudart_static.a PATHS ${TRELLIS_CUDA_TOOLKIT} PATH_SUFFIXES ${trellis_cuda_libraries}
  NO_DEFAULT_PATH NO_CACHE)
find_path(TRELLIS_CUDA_INCLUDE cuda_runtime_api.h PATHS ${TRELLIS_CUDA_TOOLKIT}
  PATH_SUFFIXES include targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include targets/sbsa-linux/include NO_DEFAULT_PATH NO_CACHE)
if(NOT TRELLIS_CUDART OR NOT TRELLIS_CUDA_INCLUDE)
  list(JOIN trellis_cuda_libraries ", " trellis_cuda_libraries)
  message(FATAL_ERROR "TRELLIS_CUDA_TOOLKIT: ${TRELLIS_CUDA_TOOLKIT} has no libcudart_static.a (looked for in "
    "${trellis_cuda_libraries}) or no cuda_runtime_api.h; tools/fetch_cuda makes one that has")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # code for A100 and H100 or H200; what is newer compiles the PTX when it starts
endif()
if(NOT DEFINED CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${TRELLIS_CUDA_TOOLKIT}/bin/nvcc)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
# nvcc has C++20, which CMake 3.25 does not know. Set after the language is enabled: its own test would want it already.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

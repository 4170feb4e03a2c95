# gRPC face, metrics and programs. Debian's gRPC has no CMake package, so it is found through pkg-config; reflection has
# no .pc file either.
find_package(PkgConfig REQUIRED)
pkg_check_modules(TRELLIS_GRPC REQUIRED IMPORTED_TARGET grpc++>=1.51)
find_library(TRELLIS_GRPC_REFLECTION grpc++_reflection REQUIRED)
find_program(TRELLIS_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
find_package(prometheus-cpp REQUIRED CONFIG)

# The wire. Include paths follow the proto tree ("trellis/v1/inference.grpc.pb.h").
set(trellis_wire_root ${PROJECT_SOURCE_DIR}/serve/proto)
set(trellis_wire_generated ${PROJECT_BINARY_DIR}/generated/serve)
file(MAKE_DIRECTORY ${trellis_wire_generated})
set(trellis_wire_sources)
foreach(proto trellis/v1/inference grpc/health/v1/health tei/v1/tei)
  set(stem ${trellis_wire_generated}/${proto})
  add_custom_command(
    OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${trellis_wire_root} --cpp_out=${trellis_wire_generated}
      --grpc_out=${trellis_wire_generated} --plugin=protoc-gen-grpc=${TRELLIS_GRPC_PLUGIN} ${trellis_wire_root}/${proto}.proto
    DEPENDS ${trellis_wire_root}/${proto}.proto
    VERBATIM)
  list(APPEND trellis_wire_sources ${stem}.pb.cc ${stem}.grpc.pb.cc)
endforeach()
set_source_files_properties(${trellis_wire_sources} PROPERTIES COMPILE_OPTIONS "-w")
add_library(trellis_wire STATIC ${trellis_wire_sources})
target_include_directories(trellis_wire SYSTEM PUBLIC ${trellis_wire_generated})
target_compile_options(trellis_wire PRIVATE ${TRELLIS_QUICK_WITH_SANITIZERS})
target_link_libraries(trellis_wire PUBLIC PkgConfig::TRELLIS_GRPC protobuf::libprotobuf)

# server/grpc_* and server/metrics_*.
add_library(trellis_face STATIC ${TRELLIS_SERVER_FACE_SOURCES})
target_link_libraries(trellis_face
  PUBLIC trellis_batching trellis_wire prometheus-cpp::core
  PRIVATE ${TRELLIS_GRPC_REFLECTION} prometheus-cpp::pull absl::strings Threads::Threads)
target_compile_options(trellis_face PRIVATE ${TRELLIS_QUICK_WITH_SANITIZERS})
target_compile_definitions(trellis_face PRIVATE TRELLIS_VERSION="${PROJECT_VERSION}")

# What both programs are made of, of the files beside their roots.
add_library(trellis_program STATIC engine_choice.cc graph_metrics.cc)
target_link_libraries(trellis_program PUBLIC trellis_engine trellis_gpu prometheus-cpp::core PRIVATE absl::strings)

# The program, which is its root and the files beside it that are named here.
add_executable(trellis_server trellis_server.cc server_flags.cc)
set_target_properties(trellis_server PROPERTIES OUTPUT_NAME trellis-server)
target_compile_options(trellis_server PRIVATE ${TRELLIS_QUICK_TO_COMPILE})
target_compile_definitions(trellis_server PRIVATE TRELLIS_VERSION="${PROJECT_VERSION}")
target_link_libraries(trellis_server PRIVATE trellis_program trellis_face trellis_completion CLI11::CLI11 absl::strings Threads::Threads)

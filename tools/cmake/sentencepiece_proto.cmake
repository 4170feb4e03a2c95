# Generates the reader of SentencePiece .model files and links the lite runtime.
# Plain protoc calls rather than protobuf_generate_cpp: include paths then follow
# the source tree ("src/format/sentencepiece_model.pb.h").
set(trellis_proto ${PROJECT_SOURCE_DIR}/src/format/sentencepiece_model.proto)
set(trellis_proto_stem ${PROJECT_BINARY_DIR}/generated/src/format/sentencepiece_model.pb)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${trellis_proto_stem}.cc ${trellis_proto_stem}.h
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${PROJECT_BINARY_DIR}/generated ${trellis_proto}
  DEPENDS ${trellis_proto}
  VERBATIM)
set_source_files_properties(${trellis_proto_stem}.cc PROPERTIES COMPILE_OPTIONS "-w")
target_sources(trellis PRIVATE ${trellis_proto_stem}.cc ${trellis_proto_stem}.h)
target_include_directories(trellis SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(trellis PRIVATE protobuf::libprotobuf-lite)

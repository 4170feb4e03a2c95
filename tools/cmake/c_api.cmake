# libtrellis_c: the C interface as a shared library that exports its own functions and nothing else, so that it can be
# loaded beside any other C++ library.
file(GLOB trellis_c_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/c_api/*.cc)
add_library(trellis_c SHARED ${trellis_c_sources})
add_library(trellis::trellis_c ALIAS trellis_c)
set(trellis_c_exports ${CMAKE_CURRENT_LIST_DIR}/trellis_c.map)
target_include_directories(trellis_c
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(trellis_c PRIVATE trellis)
target_link_options(trellis_c PRIVATE -Wl,--version-script=${trellis_c_exports})
set_target_properties(trellis_c PROPERTIES LINK_DEPENDS ${trellis_c_exports} VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

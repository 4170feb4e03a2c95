# gateway/page/*: the files of the page at "/", made into rows of C++ that gateway/page_files.cc includes.
set(TRELLIS_GATEWAY_PAGE_ROOT ${PROJECT_BINARY_DIR}/generated)
set(TRELLIS_GATEWAY_PAGE ${TRELLIS_GATEWAY_PAGE_ROOT}/serve/gateway/page_files.inc)
file(GLOB trellis_page_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gateway/page/*)
add_custom_command(
  OUTPUT ${TRELLIS_GATEWAY_PAGE}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${trellis_page_files}" -DOUTPUT=${TRELLIS_GATEWAY_PAGE}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_page.cmake
  DEPENDS ${trellis_page_files} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_page.cmake
  VERBATIM)

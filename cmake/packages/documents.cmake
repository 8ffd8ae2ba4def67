# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the packages' files before it packs them: each package gets its licence and changelog, manual
# pages are compressed, and all files are as old as the sources.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # $SOURCE_DATE_EPOCH

function(compress)
  execute_process(COMMAND gzip -9n ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(top ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(share ${top}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
  file(GLOB_RECURSE pages ${share}/man/*.[158])
  if(pages)
    compress(${pages})
  endif()

  file(MAKE_DIRECTORY ${share}/doc/${package})
  if(CPACK_GENERATOR STREQUAL DEB)
    file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${share}/doc/${package}/copyright)
    file(COPY_FILE ${CPACK_BATCHAI_SOURCE}/CHANGELOG.md ${share}/doc/${package}/changelog)
    file(WRITE ${share}/doc/${package}/changelog.Debian
         "${CPACK_PACKAGE_NAME} (${own}) stable; urgency=medium\n\n  * The changelog of the release says what is new.\n\n"
         " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    compress(${share}/doc/${package}/changelog ${share}/doc/${package}/changelog.Debian)
  else()
    file(COPY ${CPACK_BATCHAI_SOURCE}/LICENSE ${CPACK_BATCHAI_SOURCE}/CHANGELOG.md DESTINATION ${share}/doc/${package})
  endif()
  execute_process(COMMAND chmod -R u=rwX,go=rX ${top} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${top} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
endforeach()

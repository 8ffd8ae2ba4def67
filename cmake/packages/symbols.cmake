# SPDX-License-Identifier: Apache-2.0
# Run by cpack when packages are made. CPack writes the debug symbols' packages with the time of day, the build's
# umask and the build's directory in md5sums: dpkg-deb packs them again without these.
foreach(file IN LISTS CPACK_PACKAGE_FILES)
  if(file MATCHES "\\.ddeb$")
    set(place ${CPACK_TOPLEVEL_DIRECTORY}/symbols)
    file(REMOVE_RECURSE ${place})
    execute_process(COMMAND dpkg-deb -R ${file} ${place} COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${place}/DEBIAN/md5sums sums)
    string(REGEX REPLACE "  [^\n]*-dbgsym/" "  " sums "${sums}")
    file(WRITE ${place}/DEBIAN/md5sums "${sums}")
    execute_process(COMMAND chmod -R u=rwX,go=rX,a-x+X ${place} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND dpkg-deb --root-owner-group -Zgzip -b ${place} ${file} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

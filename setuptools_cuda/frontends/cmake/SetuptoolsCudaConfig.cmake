# setuptools_cuda for CMake: kernel modules, as in the table [[tool.setuptools-cuda.kernel-module]].
#
#   find_package(SetuptoolsCuda REQUIRED)
#   setuptools_cuda_add_kernel_module(kernels MODULE demo.kernels SOURCES scale.cu)
#
# The reference is in docs/reference/cmake.md of the project.

if(CMAKE_VERSION VERSION_LESS 3.25)
  set(SetuptoolsCuda_FOUND FALSE)
  set(SetuptoolsCuda_NOT_FOUND_MESSAGE "setuptools_cuda needs CMake 3.25 or newer, and this is ${CMAKE_VERSION}.")
  return()
endif()
cmake_policy(VERSION 3.25)
if(POLICY CMP0174)
  # An argument with an empty value is one that was not given, in every CMake.
  cmake_policy(SET CMP0174 NEW)
endif()

# The Python that has setuptools_cuda: the one that was named, else the one that the project has found.
foreach(_setuptools_cuda_name IN ITEMS SetuptoolsCuda_PYTHON Python_EXECUTABLE Python3_EXECUTABLE PYTHON_EXECUTABLE)
  if(${_setuptools_cuda_name})
    set(_setuptools_cuda_python "${${_setuptools_cuda_name}}")
    break()
  endif()
endforeach()
if(NOT _setuptools_cuda_python)
  find_program(SetuptoolsCuda_PYTHON NAMES python3 python DOC "The Python that has setuptools_cuda")
  set(_setuptools_cuda_python "${SetuptoolsCuda_PYTHON}")
endif()
execute_process(
  COMMAND "${_setuptools_cuda_python}" -m setuptools_cuda --version
  WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}"
  RESULT_VARIABLE _setuptools_cuda_result
  OUTPUT_VARIABLE _setuptools_cuda_said
  ERROR_VARIABLE _setuptools_cuda_said
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT _setuptools_cuda_result EQUAL 0)
  set(SetuptoolsCuda_FOUND FALSE)
  string(JOIN "\n" SetuptoolsCuda_NOT_FOUND_MESSAGE
    "\"${_setuptools_cuda_python}\" does not run setuptools_cuda: ${_setuptools_cuda_said}"
    "Set SetuptoolsCuda_PYTHON to the Python that has the distribution setuptools-cuda-build.")
  return()
endif()
set_property(GLOBAL PROPERTY SETUPTOOLS_CUDA_PYTHON "${_setuptools_cuda_python}")

# setuptools_cuda_add_kernel_module(<target>
#   MODULE <pkg.name> SOURCES <file>...
#   [ARCHITECTURES <word>...] [MIN_ARCHITECTURE <n>] [MAX_ARCHITECTURE <n>] [WHEN_EMPTY error|skip]
#   [FORMATS cubin|ptx|fatbin|ltoir...] [STD c++17] [FLAGS <flag>...] [DEFINES <define>...] [INCLUDE_DIRS <folder>...]
#   [INSTANTIATE <template>...] [SERVES <capability>...] [DRIVER <release>] [DEVICE_LINK build]
#   [DEVICE_COMPILER <name>] [USES <package>...] [DEPENDS <file>...] [MEMORY <amount>] [PRIORITY <n>]
#   [DESTINATION <folder>] [COMPONENT <name>] [NO_INSTALL])
function(setuptools_cuda_add_kernel_module target)
  set(keys_of_one MODULE MIN_ARCHITECTURE MAX_ARCHITECTURE WHEN_EMPTY STD DRIVER DEVICE_LINK DEVICE_COMPILER MEMORY
                  PRIORITY)
  set(keys_of_many FORMATS FLAGS DEFINES INSTANTIATE SERVES USES)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_INSTALL" "${keys_of_one};DESTINATION;COMPONENT"
                        "${keys_of_many};SOURCES;DEPENDS;INCLUDE_DIRS;ARCHITECTURES")
  set(who "setuptools_cuda_add_kernel_module(${target})")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${who}: no such argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${who}: without a value: ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  foreach(needed IN ITEMS MODULE SOURCES)
    if("${arg_${needed}}" STREQUAL "")
      message(FATAL_ERROR "${who}: ${needed} is missing")
    endif()
  endforeach()
  _setuptools_cuda_refuse_repeated("${who}" "${keys_of_one};DESTINATION;COMPONENT" ${ARGN})
  # It names files before anything else looks at it.
  if(arg_MODULE MATCHES "[;/:*?<>|$ \t\r\n\"'\\]" OR ".${arg_MODULE}." MATCHES "[.][.]")
    message(FATAL_ERROR "${who}: '${arg_MODULE}' is no module name: write it as pkg.kernels")
  endif()
  get_property(modules GLOBAL PROPERTY SETUPTOOLS_CUDA_MODULES)
  if("${arg_MODULE}" IN_LIST modules)
    message(FATAL_ERROR "${who}: another target makes the module ${arg_MODULE} already")
  endif()
  set_property(GLOBAL APPEND PROPERTY SETUPTOOLS_CUDA_MODULES "${arg_MODULE}")
  get_property(python GLOBAL PROPERTY SETUPTOOLS_CUDA_PYTHON)

  _setuptools_cuda_find_root(root)
  foreach(path IN ITEMS "${root}" "${CMAKE_BINARY_DIR}")
    _setuptools_cuda_is_listable(listable "${path}")
    if(NOT listable)
      message(FATAL_ERROR "${who}: CMake cannot keep this path in a list, where ';' ends an item and '[' needs its ']': "
                          "${path}")
    endif()
  endforeach()
  set(folder "${CMAKE_BINARY_DIR}/setuptools-cuda")
  set(manifest "${folder}/modules/${arg_MODULE}.json")
  set(depfile "${folder}/modules/${arg_MODULE}.d")
  set(wheel "${folder}/wheel/${arg_MODULE}")
  set(lines --target "${target}")
  foreach(pair IN ITEMS "root=${root}" "binary-folder=${CMAKE_BINARY_DIR}" "wheel-folder=${wheel}"
                        "manifest=${manifest}" "depfile=${depfile}")
    _setuptools_cuda_encode(pair "${pair}")
    list(APPEND lines "--${pair}")
  endforeach()

  # A project without a CUDA target of its own has no other use for it, and CMake would say so.
  set(unused "${CUDAToolkit_ROOT}")
  # What CMake compiles with, and for. The host compiler is CMake's where it has one for CUDA.
  set(compiler_files "")
  if(CMAKE_CUDA_COMPILER)
    _setuptools_cuda_encode(nvcc "${CMAKE_CUDA_COMPILER}")
    list(APPEND lines "--nvcc=${nvcc}")
    set(compiler_files "${CMAKE_CUDA_COMPILER}")
  endif()
  if(CMAKE_CUDA_HOST_COMPILER)
    _setuptools_cuda_encode(host_compiler "${CMAKE_CUDA_HOST_COMPILER}")
    list(APPEND lines "--host-compiler=${host_compiler}")
  endif()
  string(REPLACE ";" "," listed "${CMAKE_CUDA_ARCHITECTURES}")
  if(NOT "${listed}" STREQUAL "")
    list(APPEND lines "--architectures=${listed}")
  endif()

  foreach(key IN LISTS keys_of_one keys_of_many)
    _setuptools_cuda_words(words "${who}" "${key}" arg_${key})
    list(APPEND lines ${words})
  endforeach()
  _setuptools_cuda_words(words "${who}" ARCHITECTURES arg_ARCHITECTURES)
  list(APPEND lines ${words})
  foreach(include_dir IN LISTS arg_INCLUDE_DIRS)
    if(include_dir MATCHES "[$]<")
      message(FATAL_ERROR "${who}: INCLUDE_DIRS takes folders, and no generator expression: ${include_dir}")
    endif()
    _setuptools_cuda_place(place "${include_dir}" "${root}")
    _setuptools_cuda_encode(place "${place}")
    list(APPEND lines --word include-dirs "=${place}")
  endforeach()

  _setuptools_cuda_expand(sources "${who}" ${arg_SOURCES})
  _setuptools_cuda_expand(depends "${who}" ${arg_DEPENDS})
  foreach(kind IN ITEMS sources depends)
    foreach(file IN LISTS ${kind})
      _setuptools_cuda_place(place "${file}" "${root}")
      if(IS_ABSOLUTE "${place}")
        set(fix "")
        cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${file}" NORMALIZE generated)
        if(generated)
          string(CONCAT fix "\nKernels are named by their place in the project. Let CMake build there: "
                            "build-dir = \"build/cmake\" in [tool.scikit-build]")
        endif()
        message(FATAL_ERROR "${who}: ${file} lies outside of the project, which is ${root}${fix}")
      endif()
      _setuptools_cuda_encode(place "${place}")
      list(APPEND lines --word ${kind} "=${place}")
    endforeach()
  endforeach()
  set(arguments "${folder}/modules/${arg_MODULE}.args")
  set(pyproject "")
  if(EXISTS "${root}/pyproject.toml")
    set(pyproject "${root}/pyproject.toml")
  endif()
  add_custom_command(
    OUTPUT "${manifest}"
    COMMAND "${python}" -m setuptools_cuda kernel-module "@${arguments}"
    DEPENDS "${arguments}" ${sources} ${depends} ${pyproject} ${compiler_files}
    DEPFILE "${depfile}"
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    COMMENT "Building the kernel module ${arg_MODULE}"
    VERBATIM USES_TERMINAL)
  add_custom_target("${target}" ALL DEPENDS "${manifest}" SOURCES ${sources})
  set_target_properties("${target}" PROPERTIES
    SETUPTOOLS_CUDA_MODULE "${arg_MODULE}"
    SETUPTOOLS_CUDA_FOLDER "${wheel}"
    SETUPTOOLS_CUDA_ROOT "${root}"
    SETUPTOOLS_CUDA_LINES "${lines}"
    SETUPTOOLS_CUDA_ARGUMENTS "${arguments}"
    SETUPTOOLS_CUDA_SOURCES "${sources}")
  # Properties of sources count until the end of the file, as for other targets.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _setuptools_cuda_write_arguments [==[${target}]==])")
  if(NOT arg_NO_INSTALL)
    _setuptools_cuda_install("${target}" "${wheel}" "${manifest}" "${arg_DESTINATION}" "${arg_COMPONENT}")
  endif()
endfunction()

# Writes what the command of <target> is given: one argument a line, in a file whose time changes with its content alone.
function(_setuptools_cuda_write_arguments target)
  foreach(name IN ITEMS ROOT LINES ARGUMENTS SOURCES)
    get_target_property(${name} "${target}" SETUPTOOLS_CUDA_${name})
  endforeach()
  foreach(file IN LISTS SOURCES)
    _setuptools_cuda_place(source "${file}" "${ROOT}")
    _setuptools_cuda_encode(source "${source}")
    foreach(key IN ITEMS ARCHITECTURES MIN_ARCHITECTURE MAX_ARCHITECTURE WHEN_EMPTY STD FLAGS DEFINES INCLUDE_DIRS
                         DEVICE_COMPILER MEMORY PRIORITY)
      get_property(values SOURCE "${file}" PROPERTY SETUPTOOLS_CUDA_${key})
      string(TOLOWER "${key}" name)
      string(REPLACE "_" "-" name "${name}")
      foreach(value IN LISTS values)
        if(key STREQUAL "INCLUDE_DIRS")
          _setuptools_cuda_place(value "${value}" "${ROOT}")
        endif()
        _setuptools_cuda_encode(value "${value}")
        list(APPEND LINES --source-word "${source}" "${name}" "=${value}")
      endforeach()
    endforeach()
  endforeach()
  string(REPLACE ";" "\n" text "${LINES}")
  file(GENERATE OUTPUT "${ARGUMENTS}" CONTENT "${text}\n")
endfunction()

# Sets <result> to the folder of pyproject.toml, to which the names of sources are relative.
function(_setuptools_cuda_find_root result)
  set(folder "${CMAKE_SOURCE_DIR}")
  while(NOT EXISTS "${folder}/pyproject.toml")
    cmake_path(GET folder PARENT_PATH parent)
    if(parent STREQUAL folder)
      set(folder "${CMAKE_SOURCE_DIR}")
      break()
    endif()
    set(folder "${parent}")
  endwhile()
  file(REAL_PATH "${folder}" folder)
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Ends where an argument that has one value was given twice: CMake would take the last, and say nothing.
function(_setuptools_cuda_refuse_repeated who keys)
  set(seen "")
  foreach(word IN LISTS ARGN)
    if(word IN_LIST keys AND word IN_LIST seen)
      message(FATAL_ERROR "${who}: ${word} is given twice")
    endif()
    list(APPEND seen "${word}")
  endforeach()
endfunction()

# Sets <result> to --word and the table's key, once for each value in the list that is called <values>.
function(_setuptools_cuda_words result who key values)
  string(TOLOWER "${key}" name)
  string(REPLACE "_" "-" name "${name}")
  set(words "")
  foreach(value IN LISTS ${values})
    _setuptools_cuda_is_listable(listable "${value}" IGNORE_SEMICOLONS)
    if(NOT listable)
      message(FATAL_ERROR "${who}: CMake cannot keep a '[' without its ']' in a list: ${key} ${value}")
    endif()
    string(REPLACE "\\;" ";" value "${value}")
    _setuptools_cuda_encode(value "${value}")
    list(APPEND words --word "${name}" "=${value}")
  endforeach()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()

# Sets <result> to whether <text> is one item in a list of CMake's. IGNORE_SEMICOLONS: they are escaped.
function(_setuptools_cuda_is_listable result text)
  string(REGEX REPLACE "[^[]" "" opened "${text}")
  string(REGEX REPLACE "[^]]" "" closed "${text}")
  string(LENGTH "${opened}" opened)
  string(LENGTH "${closed}" closed)
  set(listable TRUE)
  if(NOT opened EQUAL closed OR (text MATCHES ";" AND NOT "IGNORE_SEMICOLONS" IN_LIST ARGN))
    set(listable FALSE)
  endif()
  set(${result} ${listable} PARENT_SCOPE)
endfunction()

# Sets <result> to <text> in one line and as one item of a list; the command decodes it (RFC 3986, percent-encoding).
function(_setuptools_cuda_encode result text)
  string(REPLACE "%" "%25" text "${text}")
  string(REPLACE ";" "%3B" text "${text}")
  string(REPLACE "[" "%5B" text "${text}")
  string(REPLACE "]" "%5D" text "${text}")
  string(REPLACE "\\" "%5C" text "${text}")
  string(REPLACE "\n" "%0A" text "${text}")
  string(REPLACE "\r" "%0D" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Sets <result> to <path> relative to <root> where it lies below it, else absolute. It need not exist yet.
function(_setuptools_cuda_place result path root)
  cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  string(REGEX REPLACE "(.)/+$" "\\1" path "${path}")
  set(rest "")
  while(NOT EXISTS "${path}")
    cmake_path(GET path FILENAME name)
    string(PREPEND rest "/${name}")
    cmake_path(GET path PARENT_PATH path)
  endwhile()
  file(REAL_PATH "${path}" path)
  string(APPEND path "${rest}")
  cmake_path(IS_PREFIX root "${path}" NORMALIZE inside)
  if(inside)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${root}")
  endif()
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# Sets <result> to absolute paths of files; a wildcard stands for what it matches, and CMake looks again in each build.
function(_setuptools_cuda_expand result who)
  set(files "")
  foreach(name IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE path)
    if(name MATCHES "[*]")
      if(name MATCHES "[*][*]")
        message(FATAL_ERROR "${who}: CMake has no '**' (${name}): use file(GLOB_RECURSE ... CONFIGURE_DEPENDS ...)")
      endif()
      file(GLOB found CONFIGURE_DEPENDS "${path}")
      if(NOT found)
        message(FATAL_ERROR "${who}: no file matches ${name}")
      endif()
      list(APPEND files ${found})
    else()
      get_property(generated SOURCE "${path}" PROPERTY GENERATED)
      if(NOT generated AND NOT EXISTS "${path}")
        message(FATAL_ERROR "${who}: there is no file ${name} in ${CMAKE_CURRENT_SOURCE_DIR}")
      endif()
      list(APPEND files "${path}")
    endif()
  endforeach()
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

# Installs a module where the packages of the wheel lie, and one manifest for all modules.
function(_setuptools_cuda_install target wheel manifest destination component)
  if(destination STREQUAL "")
    set(destination ".")
    foreach(tree IN ITEMS "${SKBUILD_PLATLIB_DIR}" "${SKBUILD_PURELIB_DIR}")
      if(NOT tree STREQUAL "" AND NOT CMAKE_INSTALL_PREFIX STREQUAL tree)
        # wheel.install-dir: the prefix is a folder of the tree.
        file(RELATIVE_PATH destination "${CMAKE_INSTALL_PREFIX}" "${tree}")
      endif()
    endforeach()
  endif()
  if(SKBUILD_STATE STREQUAL "editable" AND CMAKE_BINARY_DIR STREQUAL CMAKE_SOURCE_DIR)
    message(FATAL_ERROR "setuptools_cuda_add_kernel_module(${target}): nothing is installed by an editable install of the "
                        "mode 'inplace', and no import would find the module. Take editable.mode = \"redirect\", "
                        "or NO_INSTALL")
  endif()
  set(part "")
  if(NOT component STREQUAL "")
    set(part COMPONENT "${component}")
  endif()
  install(DIRECTORY "${wheel}/" DESTINATION "${destination}" ${part})

  get_property(first GLOBAL PROPERTY SETUPTOOLS_CUDA_MANIFESTS)
  if(NOT first)
    _setuptools_cuda_add_manifest()
  endif()
  set_property(GLOBAL APPEND PROPERTY SETUPTOOLS_CUDA_MANIFESTS "${manifest}")
  set_property(TARGET setuptools_cuda_manifest APPEND PROPERTY SETUPTOOLS_CUDA_MANIFESTS "${manifest}")
  add_dependencies(setuptools_cuda_manifest "${target}")
endfunction()

# Adds the target that makes one manifest of those of all modules. scikit-build-core puts it into .dist-info.
function(_setuptools_cuda_add_manifest)
  get_property(python GLOBAL PROPERTY SETUPTOOLS_CUDA_PYTHON)
  set(whole "${CMAKE_BINARY_DIR}/setuptools-cuda/setuptools_cuda.json")
  set(parts "$<TARGET_PROPERTY:setuptools_cuda_manifest,SETUPTOOLS_CUDA_MANIFESTS>")
  add_custom_command(
    OUTPUT "${whole}"
    COMMAND "${python}" -m setuptools_cuda merge-manifests --into "${whole}" "${parts}"
    DEPENDS "${parts}"
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    COMMENT "Writing the manifest setuptools_cuda.json"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(setuptools_cuda_manifest ALL DEPENDS "${whole}")
  # An editable install has its files elsewhere in each build: the manifest stays in the build folder.
  if(SKBUILD_METADATA_DIR AND NOT SKBUILD_STATE STREQUAL "editable")
    set(folder "${SKBUILD_METADATA_DIR}")
    if(SKBUILD_HATCHLING)
      string(APPEND folder "/extra_metadata")
    endif()
    install(FILES "${whole}" DESTINATION "${folder}")
  endif()
endfunction()

# Helpers that keep a module's CMakeLists.txt at a few lines.

# Compiler settings of all own code; generated code does not use it.
add_library(activescale_options INTERFACE)
target_compile_options(activescale_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wformat=2 -Wimplicit-fallthrough -Wsuggest-override -Wno-missing-field-initializers
  -fstack-protector-strong
  $<$<BOOL:${ACTIVESCALE_WERROR}>:-Werror>)
target_compile_definitions(activescale_options INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(activescale_options INTERFACE -Wl,-z,relro,-z,now)
if(ACTIVESCALE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(ACTIVESCALE_SANITIZE)
  add_compile_options(-fsanitize=${ACTIVESCALE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ACTIVESCALE_SANITIZE})
  if(ACTIVESCALE_SANITIZE STREQUAL "thread")
    # The thread sanitizer does not know bare fences; Asio's locks order the same accesses.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
else()
  target_compile_definitions(activescale_options INTERFACE
    $<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)
endif()

# activescale_module(NAME SOURCES ... [DEPS ...] [PRIVATE_DEPS ...])
# A static library `activescale_NAME`. DEPS are visible in its headers, PRIVATE_DEPS are not.
function(activescale_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(activescale_${name} STATIC ${ARG_SOURCES})
  target_include_directories(activescale_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(activescale_${name}
    PUBLIC ${ARG_DEPS}
    PRIVATE activescale_options ${ARG_PRIVATE_DEPS})
endfunction()

# Every test of code that threads share: what the thread sanitizer builds.
add_custom_target(threaded_tests)

# activescale_test(NAME SOURCES ... [DEPS ...] [LABELS ...])
# A GoogleTest binary `NAME_test`, one a module (two where gRPC keeps part of it from the thread
# sanitizer), run as one ctest test. Label `pure`: values in, values out, no thread sees it.
function(activescale_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE
    activescale_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name}_test COMMAND ${name}_test)
  set_tests_properties(${name}_test PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT 300)
  if(NOT "pure" IN_LIST ARG_LABELS)
    add_dependencies(threaded_tests ${name}_test)
  endif()
endfunction()

# activescale_bench(NAME SOURCES ... [DEPS ...])
# A Google Benchmark binary `NAME_bench`, built only when asked for.
function(activescale_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name}_bench EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name}_bench PRIVATE
    activescale_options ${ARG_DEPS} benchmark::benchmark_main)
endfunction()

# activescale_fuzz(NAME SOURCES ... CORPUS folder [DEPS ...])
# A fuzz target `NAME_fuzz` (it defines LLVMFuzzerTestOneInput). With the preset `fuzz` it is a
# libFuzzer binary; else it runs the corpus and seeded mutations of it as an ordinary test.
function(activescale_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  add_executable(${name}_fuzz ${ARG_SOURCES})
  target_link_libraries(${name}_fuzz PRIVATE activescale_options ${ARG_DEPS})
  if(ACTIVESCALE_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/src/base/testing/fuzz_replay.cc)
  add_test(NAME ${name}_fuzz COMMAND ${name}_fuzz ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
  set_tests_properties(${name}_fuzz PROPERTIES LABELS "unit;pure" TIMEOUT 300)
endfunction()

# Libraries as archives, so that the sidecar and the command can each be linked into one static file; sanitizer
# builds use the same ones. sluice_archive(NAME HEADER ARCHIVE...): sluice::NAME.
function(sluice_archive name header)
  find_path(SLUICE_${name}_INCLUDE ${header} REQUIRED)
  add_library(sluice_${name} INTERFACE)
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} SYSTEM INTERFACE ${SLUICE_${name}_INCLUDE})
  foreach(archive IN LISTS ARGN)
    find_library(SLUICE_${archive} NAMES ${archive} REQUIRED)
    target_link_libraries(sluice_${name} INTERFACE ${SLUICE_${archive}})
  endforeach()
endfunction()

sluice_archive(nghttp2 nghttp2/nghttp2.h libnghttp2.a)
sluice_archive(re2 re2/re2.h libre2.a)
sluice_archive(openssl openssl/ssl.h libssl.a libcrypto.a)
target_link_libraries(sluice_openssl INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
sluice_archive(zlib zlib.h libz.a)
sluice_archive(yaml yaml-cpp/yaml.h libyaml-cpp.a)
sluice_archive(sqlite sqlite3.h libsqlite3.a)
target_link_libraries(sluice_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
# Debian has no archive of fmt: its headers hold the sources, which become one here.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/fmt.cpp CONTENT [[
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                 locale_ref);
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
template FMT_API void buffer<wchar_t>::append(const wchar_t*, const wchar_t*);
}  // namespace detail
FMT_END_NAMESPACE
]])
add_library(sluice_fmt STATIC ${CMAKE_CURRENT_BINARY_DIR}/fmt.cpp)
add_library(sluice::fmt ALIAS sluice_fmt)
find_library(SLUICE_PROTOBUF_LITE NAMES libprotobuf-lite.a REQUIRED)

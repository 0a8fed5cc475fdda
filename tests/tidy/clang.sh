# shellcheck shell=bash
# The verb tidy of ./dev, which has ROOMS and what installs and builds.

readonly TIDY_FILES_MAX=20  # of changed files: some five minutes of one core

# clang_tidy: the files on standard input, each ended by a NUL, that changed since they passed. With the flags of
# asan, the build of clang 14: it cannot read the precompiled headers of g++.
clang_tidy() {
  say "clang-tidy"
  # shellcheck disable=SC2016
  python3 tests/tidy/clang_outdated.py build/asan build/asan/clang-tidy | xargs -0 -r -n 1 -P "$(nproc)" bash -c '
    stamp="build/asan/clang-tidy/$0"
    mkdir -p "${stamp%/*}" && touch "$stamp.begun"
    clang-tidy-14 --quiet -p build/asan "$0" && mv "$stamp.begun" "$stamp"'
}

tidy() {
  if [[ "${1:-}" == --changed ]]; then
    shift
    tidy_changed "$@"
    return
  fi
  (( $# == 0 )) || die "tidy takes --changed [COMMIT] or nothing, not '$*'" 2
  need_debian
  need "$BUILD_PACKAGES" "$TIDY_PACKAGES"
  say "the rules of the source tree"
  python3 tests/tidy/tidy.py .
  say "headers that compile alone"
  build debug --target all_verify_interface_header_sets
  build asan
  find "${ROOMS[@]}" -name '*.cpp' -not -path 'tests/*' -print0 | sort -z | clang_tidy
}

# base_commit: what a change is compared with; fails where that cannot be known, as in a clone of depth 1.
base_commit() {
  local base head
  head="$(git rev-parse --verify --quiet HEAD 2>/dev/null)" || return 1
  if base="$(git merge-base HEAD '@{upstream}' 2>/dev/null)" && [[ "$base" != "$head" ]]; then
    echo "$base"
  else
    git rev-parse --verify --quiet HEAD~1
  fi
}

# changed_sources COMMIT: .cpp files that changed since, or whose header did, if the build has them.
changed_sources() {
  local name
  {
    git diff --name-only --diff-filter=d "$1" -- "${ROOMS[@]}"
    git ls-files --others --exclude-standard -- "${ROOMS[@]}"
  } | sed -n 's/\.\(cpp\|h\)$/.cpp/p' | grep -v '^tests/' | sort -u |
    while read -r name; do
      if grep -qF "\"file\": \"$PWD/$name\"" build/asan/compile_commands.json; then echo "$name"; fi
    done
}

tidy_changed() {
  local base
  (( $# < 2 )) || die "tidy --changed takes one commit; '${*:2}' is too much" 2
  if (( $# )); then
    base="$(git rev-parse --verify --quiet "$1^{commit}")" || die "no commit '$1'" 2
  elif ! base="$(base_commit)"; then
    say "clang-tidy: nothing to compare with (a clone of depth 1, a first commit, or no git); all files: ./dev tidy"
    return
  fi
  need_debian
  need "$BUILD_PACKAGES" "$TIDY_PACKAGES"
  configure asan
  local -a files
  mapfile -t files < <(changed_sources "$base")
  say "clang-tidy: ${#files[@]} sources changed since ${base:0:12}"
  if (( ${#files[@]} > TIDY_FILES_MAX )); then
    say "only the first $TIDY_FILES_MAX of them are checked; all files: ./dev tidy"
    files=("${files[@]:0:TIDY_FILES_MAX}")
  fi
  (( ${#files[@]} )) || return 0
  # NAME^ is what ninja makes of a source: compiled, it has the generated and precompiled headers it reads.
  local -a objects=("${files[@]/#/$PWD/}")
  cmake --build --preset asan --target "${objects[@]/%/^}"
  printf '%s\0' "${files[@]}" | clang_tidy
}

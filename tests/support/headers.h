// What nearly every test includes, for a precompiled header: Catch, fmt, and what compiles slowly
// of the standard library. No test relies on it: builds with ccache are without.
#ifndef CGRAPH_TESTS_SUPPORT_HEADERS_H_
#define CGRAPH_TESTS_SUPPORT_HEADERS_H_

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#endif  // CGRAPH_TESTS_SUPPORT_HEADERS_H_

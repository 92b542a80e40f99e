#pragma once

#include <string_view>

#include <boost/json/string.hpp>

namespace octavo::query {

inline std::string_view view(const boost::json::string& text) {
  return {text.data(), text.size()};
}

}  // namespace octavo::query

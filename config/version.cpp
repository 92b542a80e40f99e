#include "config/version.h"

namespace octavo::config {

std::string_view version() {
  return OCTAVO_VERSION;
}

}  // namespace octavo::config

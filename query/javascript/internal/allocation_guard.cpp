#include "query/javascript/internal/allocation_guard.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <jsapi.h>
#include <limits>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

// This file replaces malloc() itself, in tables whose addresses the loader gives as integers.
// NOLINTBEGIN(cppcoreguidelines-no-malloc,performance-no-int-to-ptr)

namespace octavo::query::javascript {

namespace {

struct ThreadLimit {
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
  std::size_t growth_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t grown = 0;
  void (*on_growth)(void*) = nullptr;
  void* argument = nullptr;
};
constinit thread_local ThreadLimit thread_limit;

constexpr std::size_t large_bytes = 64ULL << 10;

bool allows(std::size_t bytes) {
  if (bytes < large_bytes) [[likely]]
    return true;
  auto& limit = thread_limit;
  if (bytes > limit.bytes_max) {
    errno = ENOMEM;
    return false;
  }
  limit.grown += bytes;
  if (limit.grown > limit.growth_bytes) {
    limit.grown = 0;
    limit.on_growth(limit.argument);
  }
  return true;
}

void* guarded_malloc(std::size_t bytes) {
  return allows(bytes) ? std::malloc(bytes) : nullptr;
}

void* guarded_calloc(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all) || !allows(all)) return nullptr;
  return std::calloc(count, bytes);
}

void* guarded_realloc(void* block, std::size_t bytes) {
  return allows(bytes) ? std::realloc(block, bytes) : nullptr;
}

struct Replacement {
  std::string_view name;
  void* function;
};
const std::array replacements{Replacement{"malloc", reinterpret_cast<void*>(guarded_malloc)},
                              Replacement{"calloc", reinterpret_cast<void*>(guarded_calloc)},
                              Replacement{"realloc", reinterpret_cast<void*>(guarded_realloc)}};

#if defined(__x86_64__)
constexpr bool is_import(std::uint32_t type) {
  return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT;
}
#elif defined(__aarch64__)
constexpr bool is_import(std::uint32_t type) {
  return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT;
}
#else
constexpr bool is_import(std::uint32_t) {
  return false;
}
#endif

// The parts of a loaded library that list its imported functions and where their addresses are stored.
struct Imports {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::array<std::pair<const ElfW(Rela)*, std::size_t>, 2> tables{};  ///< with their sizes in bytes
};

Imports read_imports(const ElfW(Dyn) * entry) {
  Imports imports;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;  // glibc has added the load address to these
    switch (entry->d_tag) {
      case DT_STRTAB:
        imports.names = reinterpret_cast<const char*>(address);
        break;
      case DT_SYMTAB:
        imports.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_RELA:
        imports.tables[0].first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        imports.tables[0].second = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        imports.tables[1].first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        imports.tables[1].second = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return imports;
}

// The loader has made the table read-only.
bool write_slot(void** slot, void* function) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page_bytes - 1));
  if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  *slot = function;
  mprotect(page, page_bytes, PROT_READ);
  return true;
}

// Returns how many imports of the library now call the guard.
std::size_t redirect(const link_map& library) {
  const Imports imports = read_imports(library.l_ld);
  std::size_t replaced = 0;
  if (imports.names == nullptr || imports.symbols == nullptr) return replaced;
  for (const auto& [table, bytes] : imports.tables) {
    for (std::size_t i = 0; table != nullptr && i < bytes / sizeof *table; ++i) {
      const auto& entry = table[i];
      if (!is_import(static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)))) continue;
      const std::string_view name = imports.names + imports.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      for (const auto& replacement : replacements) {
        if (name != replacement.name) continue;
        auto* slot = reinterpret_cast<void**>(library.l_addr + entry.r_offset);
        if (write_slot(slot, replacement.function)) ++replaced;
      }
    }
  }
  return replaced;
}

}  // namespace

// Not by dl_iterate_phdr, which holds a lock of the loader meanwhile: the thread sanitizer takes that lock while it
// holds its own, which this code needs where it is built with that sanitizer.
bool AllocationGuard::install() {
  Dl_info info;
  void* library = nullptr;
  if (dladdr1(reinterpret_cast<void*>(JS_NewContext), &info, &library, RTLD_DL_LINKMAP) == 0) return false;
  const auto& loaded = *static_cast<const link_map*>(library);
  if (!std::string_view(loaded.l_name).contains("libmozjs-")) return false;
  return redirect(loaded) >= replacements.size();
}

void AllocationGuard::set(std::size_t bytes_max, std::size_t growth_bytes, void (*on_growth)(void*), void* argument) {
  thread_limit = {bytes_max, growth_bytes, 0, on_growth, argument};
}

void AllocationGuard::clear() {
  thread_limit = {};
}

}  // namespace octavo::query::javascript

// NOLINTEND(cppcoreguidelines-no-malloc,performance-no-int-to-ptr)

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/live/driver.hpp"

/// Where everything lies that a traced function allocates.
///
/// Region 0 is for what happens outside a capture and gives memory back. Regions 1 and 2 hold one
/// capture each: they only grow, so that no address is handed out twice, and lie at other
/// addresses, so that a pointer differs between two captures and a number does not.
namespace ouroboros::live {

constexpr int regions = 3;

struct Block {
  Address address = 0;
  std::uint64_t bytes = 0;  ///< As asked for.
};

/// Reserves the address ranges, each of `bytes`, for the current context's device `device`.
void open_arena(std::uint64_t bytes, int device);

/// Directs allocations into a region; a capture's region is emptied first.
void use_region(int region);

/// Gives back the physical memory of both captures' regions, and of region 0 where nothing is used.
void trim_arena();

/// The allocations of a region that are in use, by address.
[[nodiscard]] std::vector<Block> blocks(int region);

/// Whether the arena covers an address, allocated or not.
[[nodiscard]] bool in_arena(Address address);

[[nodiscard]] Address allocate(std::uint64_t bytes, Handle stream);
void release(Address address, Handle stream);

}  // namespace ouroboros::live

#include "executor/cuda/main/seal_kernel.hpp"

#include <fmt/format.h>

namespace ouroboros::cuda {
namespace {

/// `scrambled` of a register, in place.
std::string scramble(const char* bits) {
  return fmt::format(R"(
  shr.u64 %t, {0}, 30;
  xor.b64 {0}, {0}, %t;
  mul.lo.u64 {0}, {0}, 0xbf58476d1ce4e5b9;
  shr.u64 %t, {0}, 27;
  xor.b64 {0}, {0}, %t;
  mul.lo.u64 {0}, {0}, 0x94d049bb133111eb;
  shr.u64 %t, {0}, 31;
  xor.b64 {0}, {0}, %t;)",
                     bits);
}

/// `secret_of` the place in %seed: the pads, and what hides the sum.
std::string make_secret() {
  std::string text = "\n  xor.b64 %seed, %seed, %key_places;" + scramble("%seed");
  for (const char* part : {"first", "second", "sums"}) {
    const auto secret = fmt::format("%s_{}", part);
    text +=
        fmt::format("\n  xor.b64 {0}, %seed, %key_{1};", secret, part) + scramble(secret.c_str());
  }
  return text;
}

/// Adds `mixed` of what is enciphered to %total.
constexpr const char* add_up = R"(
  selp.b64 %from_first, %from_first, %to_first, %is_sealed;
  selp.b64 %from_second, %from_second, %to_second, %is_sealed;
  shl.b64 %t, %s_sums, 47;
  shr.u64 %u, %s_sums, 17;
  or.b64 %t, %t, %u;
  xor.b64 %from_first, %from_first, %s_sums;
  xor.b64 %from_second, %from_second, %t;
  mul.lo.u64 %t, %from_first, %from_second;
  mul.hi.u64 %u, %from_first, %from_second;
  add.s64 %total, %total, %t;
  add.s64 %total, %total, %u;)";

}  // namespace

std::string seal_kernel_ptx() {
  return R"(
.version 6.4
.target sm_70
.address_size 64

.visible .entry ouroboros_seal(.param .u64 p_from, .param .u64 p_to, .param .u64 p_bytes,
                               .param .u64 p_key, .param .u64 p_place, .param .u64 p_sums,
                               .param .u32 p_sealed)
.maxntid 1024, 1, 1
.minnctapersm 2
{
  .shared .align 8 .u64 block_total;
  .shared .align 16 .u64 key[4];
  .reg .pred %is_sealed, %has_place, %is_first, %done;
  .reg .b32 %thread, %threads, %block, %word, %low, %high, %other_low, %other_high;
  .reg .b64 %from, %to, %bytes, %at, %place, %step, %sums, %total, %t, %u;
  .reg .b64 %key_places, %key_first, %key_second, %key_sums, %seed, %s_first, %s_second, %s_sums;
  .reg .b64 %from_first, %from_second, %to_first, %to_second;
  ld.param.u64 %from, [p_from];
  ld.param.u64 %to, [p_to];
  ld.param.u64 %bytes, [p_bytes];
  ld.param.u64 %place, [p_place];
  ld.param.u64 %sums, [p_sums];
  ld.param.u32 %word, [p_sealed];
  setp.ne.u32 %is_sealed, %word, 0;
  setp.ne.u64 %has_place, %to, 0;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  setp.eq.u32 %is_first, %thread, 0;
  mov.u64 %total, 0;
  @!%is_first bra LENT;
  // The host's memory is far away: not all threads ask it.
  ld.param.u64 %t, [p_key];
  ld.global.v2.u64 {%key_places, %key_first}, [%t];
  ld.global.v2.u64 {%key_second, %key_sums}, [%t+16];
  st.shared.v2.u64 [key], {%key_places, %key_first};
  st.shared.v2.u64 [key+16], {%key_second, %key_sums};
  st.shared.u64 [block_total], %total;
LENT:
  bar.sync 0;
  ld.shared.v2.u64 {%key_places, %key_first}, [key];
  ld.shared.v2.u64 {%key_second, %key_sums}, [key+16];
  mov.u32 %word, %nctaid.x;
  mul.wide.u32 %step, %word, %threads;
  shl.b64 %step, %step, 4;
  mad.lo.u32 %word, %block, %threads, %thread;
  mul.wide.u32 %at, %word, 16;
WHOLE:
  add.s64 %u, %at, 16;
  setp.gt.u64 %done, %u, %bytes;
  @%done bra REST;
  add.s64 %t, %from, %at;
  ld.global.v2.u64 {%from_first, %from_second}, [%t];
  shr.u64 %seed, %at, 4;
  add.s64 %seed, %seed, %place;)" +
         make_secret() + R"(
  xor.b64 %to_first, %from_first, %s_first;
  xor.b64 %to_second, %from_second, %s_second;
  add.s64 %t, %to, %at;
  @%has_place st.global.v2.u64 [%t], {%to_first, %to_second};)" +
         add_up + R"(
  add.s64 %at, %at, %step;
  bra WHOLE;
REST:
  // Of the last bytes each has a place, behind those of whole ones.
  and.b64 %t, %bytes, 15;
  cvt.u64.u32 %at, %word;
  setp.ge.u64 %done, %at, %t;
  @%done bra SUM;
  shr.u64 %seed, %bytes, 4;
  add.s64 %seed, %seed, %at;
  add.s64 %seed, %seed, %place;
  sub.s64 %bytes, %bytes, %t;
  add.s64 %at, %at, %bytes;
  add.s64 %t, %from, %at;
  ld.global.u8 %from_first, [%t];
  mov.u64 %from_second, 0;
  mov.u64 %to_second, 0;)" +
         make_secret() + R"(
  and.b64 %s_first, %s_first, 255;
  xor.b64 %to_first, %from_first, %s_first;
  add.s64 %t, %to, %at;
  @%has_place st.global.u8 [%t], %to_first;)" +
         add_up + R"(
SUM:
  // Of each warp, and of the block: one address takes few additions at a time.
  mov.u32 %word, 16;
LANES:
  mov.b64 {%low, %high}, %total;
  shfl.sync.bfly.b32 %other_low, %low, %word, 31, 0xffffffff;
  shfl.sync.bfly.b32 %other_high, %high, %word, 31, 0xffffffff;
  mov.b64 %t, {%other_low, %other_high};
  add.s64 %total, %total, %t;
  shr.u32 %word, %word, 1;
  setp.ne.u32 %done, %word, 0;
  @%done bra LANES;
  and.b32 %word, %thread, 31;
  setp.eq.u32 %done, %word, 0;
  @%done red.shared.add.u64 [block_total], %total;
  bar.sync 0;
  @!%is_first bra END;
  ld.shared.u64 %total, [block_total];
  mul.wide.u32 %t, %block, 8;
  add.s64 %t, %t, %sums;
  st.global.u64 [%t], %total;
END:
  ret;
}
)";
}

}  // namespace ouroboros::cuda

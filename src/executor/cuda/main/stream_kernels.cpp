#include "executor/cuda/main/stream_kernels.hpp"

#include <fmt/format.h>

namespace ouroboros::cuda {
namespace {

constexpr unsigned unrolled = 4;  ///< Words of each stream that a thread has in flight.

std::string vector(const char* name, unsigned number) {
  return fmt::format("{{%{0}{1}, %{0}{2}, %{0}{3}, %{0}{4}}}", name, number * 4, number * 4 + 1,
                     number * 4 + 2, number * 4 + 3);
}

/// Streams lie `words` apart, and a thread's words lie as many threads apart: one address each.
std::string kernel(const StreamMix& mix) {
  std::string text = fmt::format(
      R"(
.visible .entry ouroboros_move_{}_{}(.param .u64 p_from, .param .u64 p_to, .param .u64 p_words,
                                     .param .u64 p_sink)
{{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b32 %v<{}>;
  .reg .b64 %d<16>;
  ld.param.u64 %d1, [p_from];
  ld.param.u64 %d2, [p_to];
  ld.param.u64 %d3, [p_words];
  ld.param.u64 %d4, [p_sink];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d5, %r4;
  mov.u32 %r5, %nctaid.x;
  mul.lo.s32 %r6, %r5, %r2;
  cvt.u64.u32 %d6, %r6;
  shl.b64 %d7, %d6, 4;
  shl.b64 %d8, %d3, 4;
  mov.u32 %r7, 0;
LOOP:
  setp.ge.u64 %p1, %d5, %d3;
  @%p1 bra DONE;
  shl.b64 %d9, %d5, 4;
)",
      mix.reads, mix.writes, (mix.reads + 1) * unrolled * 4);
  for (unsigned stream = 0; stream < mix.reads; ++stream) {
    text += fmt::format("  add.s64 %d10, %d1, %d9;\n");
    for (unsigned i = 0; i < stream; ++i) {
      text += "  add.s64 %d10, %d10, %d8;\n";
    }
    for (unsigned i = 0; i < unrolled; ++i) {
      text += fmt::format("  ld.global.v4.u32 {}, [%d10];\n  add.s64 %d10, %d10, %d7;\n",
                          vector("v", stream * unrolled + i));
    }
  }
  for (unsigned i = 0; i < unrolled * 4; ++i) {
    if (mix.reads == 0) {
      text += fmt::format("  mov.u32 %v{}, %r4;\n", i);
    }
    for (unsigned stream = 1; stream < mix.reads; ++stream) {
      text += fmt::format("  xor.b32 %v{0}, %v{0}, %v{1};\n", i, stream * unrolled * 4 + i);
    }
    if (mix.writes == 0) {
      text += fmt::format("  or.b32 %r7, %r7, %v{};\n", i);
    }
  }
  for (unsigned stream = 0; stream < mix.writes; ++stream) {
    text += "  add.s64 %d10, %d2, %d9;\n";
    for (unsigned i = 0; i < stream; ++i) {
      text += "  add.s64 %d10, %d10, %d8;\n";
    }
    for (unsigned i = 0; i < unrolled; ++i) {
      text += fmt::format("  st.global.v4.u32 [%d10], {};\n  add.s64 %d10, %d10, %d7;\n",
                          vector("v", i));
    }
  }
  // What was read is zero, so the sink is never written; the compiler cannot know that.
  text += R"(  shl.b64 %d11, %d6, 2;
  add.s64 %d5, %d5, %d11;
  bra LOOP;
DONE:
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra END;
  st.global.u32 [%d4], %r7;
END:
  ret;
}
)";
  return text;
}

}  // namespace

std::string stream_kernels_ptx() {
  std::string text = "\n.version 6.4\n.target sm_70\n.address_size 64\n";
  for (const auto& mix : stream_mixes) {
    text += kernel(mix);
  }
  return text;
}

}  // namespace ouroboros::cuda

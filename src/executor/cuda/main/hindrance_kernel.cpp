#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {

const char* const hindrance_ptx = R"ptx(
.version 6.4
.target sm_70
.address_size 64

.visible .entry ouroboros_hinder(.param .u64 p_words, .param .u32 p_ticket, .param .u32 p_seed,
                                 .param .u64 p_patience_ns, .param .u64 p_print)
.maxnreg 32
{
  .shared .align 128 .b8 bank[4096];
  .shared .align 4 .u32 over;
  .reg .pred %p<6>;
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %d<9>;
  ld.param.u64 %d1, [p_words];
  ld.param.u32 %r1, [p_ticket];
  ld.param.u32 %r2, [p_seed];
  ld.param.u64 %d2, [p_patience_ns];
  ld.param.u64 %d8, [p_print];
  mov.u64 %d3, %globaltimer;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, 0;
  st.volatile.shared.u32 [over], %r4;
  bar.sync 0;

  // One block says that the launch is there.
  mov.u32 %r5, %ctaid.x;
  or.b32 %r5, %r5, %r3;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra LOTS;
  st.volatile.global.u32 [%d1+8], %r1;
LOTS:
  // A multiprocessor's lot: nothing, in half of all cases.
  mov.u32 %r5, %smid;
  xor.b32 %r5, %r5, %r2;
  mul.lo.u32 %r5, %r5, 0x9e3779b1;
  shr.u32 %r6, %r5, 15;
  xor.b32 %r5, %r5, %r6;
  mul.lo.u32 %r5, %r5, 0x85ebca6b;
  shr.u32 %r6, %r5, 13;
  xor.b32 %r5, %r5, %r6;
  and.b32 %r6, %r5, 1;
  setp.eq.u32 %p1, %r6, 0;
  @%p1 bra END;
  shr.u32 %r7, %r3, 5;
  setp.eq.u32 %p1, %r7, 0;
  @%p1 bra WATCH;

  // The lot of one of its four schedulers, to each of which every fourth warp belongs: nothing,
  // shared memory, or in two of four cases arithmetic.
  mov.u32 %r7, %warpid;
  and.b32 %r7, %r7, 3;
  shl.b32 %r7, %r7, 1;
  add.u32 %r7, %r7, 8;
  shr.u32 %r7, %r5, %r7;
  and.b32 %r7, %r7, 3;
  setp.eq.u32 %p1, %r7, 0;
  @%p1 bra END;
  setp.eq.u32 %p2, %r7, 1;
  // Each lane's word lies in the same bank as the other lanes'.
  and.b32 %r8, %r3, 31;
  shl.b32 %r8, %r8, 7;
  mov.u32 %r9, bank;
  add.u32 %r8, %r8, %r9;
  cvt.rn.f32.u32 %f1, %r3;
  mov.f32 %f2, %f1;
  mov.f32 %f3, %f1;
  mov.f32 %f4, %f1;
  mov.f32 %f5, %f1;
HINDER:
  ld.volatile.shared.u32 %r10, [over];
  setp.ne.u32 %p3, %r10, 0;
  @%p3 bra END;
  mov.u32 %r11, 16;
  @!%p2 bra COMPUTE;
CONFLICT:
  ld.volatile.shared.u32 %r12, [%r8];
  ld.volatile.shared.u32 %r13, [%r8];
  ld.volatile.shared.u32 %r14, [%r8];
  ld.volatile.shared.u32 %r15, [%r8];
  sub.u32 %r11, %r11, 1;
  setp.ne.u32 %p3, %r11, 0;
  @%p3 bra CONFLICT;
  bra HINDER;
COMPUTE:
  fma.rn.f32 %f2, %f2, %f1, %f1;
  fma.rn.f32 %f3, %f3, %f1, %f1;
  fma.rn.f32 %f4, %f4, %f1, %f1;
  fma.rn.f32 %f5, %f5, %f1, %f1;
  fma.rn.f32 %f2, %f2, %f1, %f1;
  fma.rn.f32 %f3, %f3, %f1, %f1;
  fma.rn.f32 %f4, %f4, %f1, %f1;
  fma.rn.f32 %f5, %f5, %f1, %f1;
  fma.rn.f32 %f2, %f2, %f1, %f1;
  fma.rn.f32 %f3, %f3, %f1, %f1;
  fma.rn.f32 %f4, %f4, %f1, %f1;
  fma.rn.f32 %f5, %f5, %f1, %f1;
  fma.rn.f32 %f2, %f2, %f1, %f1;
  fma.rn.f32 %f3, %f3, %f1, %f1;
  fma.rn.f32 %f4, %f4, %f1, %f1;
  fma.rn.f32 %f5, %f5, %f1, %f1;
  sub.u32 %r11, %r11, 1;
  setp.ne.u32 %p3, %r11, 0;
  @%p3 bra COMPUTE;
  // Sums of what is not negative never are, which the compiler cannot know.
  add.f32 %f6, %f2, %f3;
  add.f32 %f7, %f4, %f5;
  add.f32 %f6, %f6, %f7;
  setp.geu.f32 %p4, %f6, 0f00000000;
  @%p4 bra HINDER;
  st.volatile.shared.u32 [bank], %r11;
  bra HINDER;

  // The first warp watches for the host's password.
WATCH:
  ld.volatile.global.u64 %d6, [%d1];
  shr.u64 %d7, %d6, 30;
  xor.b64 %d7, %d6, %d7;
  mul.lo.u64 %d7, %d7, 0xbf58476d1ce4e5b9;
  shr.u64 %d5, %d7, 27;
  xor.b64 %d7, %d7, %d5;
  mul.lo.u64 %d7, %d7, 0x94d049bb133111eb;
  shr.u64 %d5, %d7, 31;
  xor.b64 %d7, %d7, %d5;
  xor.b64 %d7, %d7, %d6;
  setp.eq.u64 %p3, %d7, %d8;
  mov.u64 %d4, %globaltimer;
  sub.u64 %d5, %d4, %d3;
  setp.ge.u64 %p4, %d5, %d2;
  or.pred %p3, %p3, %p4;
  @%p3 bra DISMISS;
  nanosleep.u32 500;
  bra WATCH;
DISMISS:
  mov.u32 %r10, 1;
  st.volatile.shared.u32 [over], %r10;
END:
  ret;
}
)ptx";

}  // namespace ouroboros::cuda

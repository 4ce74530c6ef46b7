#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {

static_assert(sizeof(TouchedRanges) == 64, "as ouroboros_touch takes it");

const char* const kernels_ptx = R"ptx(
.version 6.4
.target sm_70
.address_size 64

.extern .shared .align 16 .b8 ouroboros_dynamic[];

.visible .entry ouroboros_read(.param .u64 p_base, .param .u64 p_count, .param .u64 p_sink)
{
  .reg .pred %p<3>;
  .reg .b32 %r<32>;
  .reg .b64 %d<16>;
  ld.param.u64 %d1, [p_base];
  ld.param.u64 %d2, [p_count];
  ld.param.u64 %d3, [p_sink];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d4, %r4;
  mov.u32 %r5, %nctaid.x;
  mul.lo.s32 %r6, %r5, %r2;
  cvt.u64.u32 %d5, %r6;
  shl.b64 %d6, %d5, 4;
  mov.u32 %r7, 0;
LOOP:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra DONE;
  shl.b64 %d7, %d4, 4;
  add.s64 %d8, %d1, %d7;
  add.s64 %d9, %d8, %d6;
  add.s64 %d10, %d9, %d6;
  add.s64 %d11, %d10, %d6;
  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d8];
  ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%d9];
  ld.global.v4.u32 {%r16, %r17, %r18, %r19}, [%d10];
  ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d11];
  xor.b32 %r8, %r8, %r9;
  xor.b32 %r10, %r10, %r11;
  xor.b32 %r12, %r12, %r13;
  xor.b32 %r14, %r14, %r15;
  xor.b32 %r16, %r16, %r17;
  xor.b32 %r18, %r18, %r19;
  xor.b32 %r20, %r20, %r21;
  xor.b32 %r22, %r22, %r23;
  xor.b32 %r8, %r8, %r10;
  xor.b32 %r12, %r12, %r14;
  xor.b32 %r16, %r16, %r18;
  xor.b32 %r20, %r20, %r22;
  xor.b32 %r8, %r8, %r12;
  xor.b32 %r16, %r16, %r20;
  or.b32 %r24, %r8, %r16;
  or.b32 %r7, %r7, %r24;
  shl.b64 %d12, %d5, 2;
  add.s64 %d4, %d4, %d12;
  bra LOOP;
DONE:
  // The buffer is zero, so this never stores; the compiler cannot know that.
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra END;
  st.global.u32 [%d3], %r7;
END:
  ret;
}

.visible .entry ouroboros_canary(.param .u64 p_base, .param .u64 p_bytes, .param .u32 p_pattern,
                                 .param .u64 p_result)
{
  .reg .pred %p<3>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  ld.param.u64 %d1, [p_base];
  ld.param.u64 %d2, [p_bytes];
  ld.param.u32 %r1, [p_pattern];
  ld.param.u64 %d3, [p_result];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %d4, %r5;
  mov.u32 %r6, %nctaid.x;
  mul.lo.s32 %r7, %r6, %r3;
  cvt.u64.u32 %d5, %r7;
LOOP:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra END;
  add.s64 %d6, %d1, %d4;
  ld.global.u8 %r8, [%d6];
  cvt.u32.u64 %r9, %d6;
  and.b32 %r9, %r9, 3;
  shl.b32 %r9, %r9, 3;
  shr.u32 %r10, %r1, %r9;
  and.b32 %r10, %r10, 255;
  setp.eq.u32 %p2, %r8, %r10;
  @%p2 bra NEXT;
  red.global.add.u64 [%d3], 1;
  red.global.min.u64 [%d3+8], %d4;
  red.global.max.u64 [%d3+16], %d4;
NEXT:
  add.s64 %d4, %d4, %d5;
  bra LOOP;
END:
  ret;
}

.visible .entry ouroboros_fill_on_chip(.param .u32 p_bytes, .param .u32 p_word)
.maxntid 1024, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b32 %v<60>;
  ld.param.u32 %r1, [p_bytes];
  mov.u32 %r2, %tid.x;
  shl.b32 %r7, %r2, 4;
  shl.b32 %r2, %r2, 2;
  mov.u32 %r3, %ntid.x;
  shl.b32 %r3, %r3, 2;
  mov.u32 %r4, ouroboros_dynamic;
  ld.param.u32 %r5, [p_word];
LOOP:
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra REGISTERS;
  add.u32 %r6, %r4, %r2;
  st.volatile.shared.u32 [%r6], %r5;
  add.u32 %r2, %r2, %r3;
  bra LOOP;
REGISTERS:
  // 1024 threads have 64 registers each. What is read before the barrier and written behind it is
  // in registers in between, all of it at once: as much as needs no stack.
  bar.sync 0;
  add.u32 %r8, %r4, %r7;
  ld.volatile.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%r8];
  ld.volatile.shared.v4.u32 {%v4, %v5, %v6, %v7}, [%r8];
  ld.volatile.shared.v4.u32 {%v8, %v9, %v10, %v11}, [%r8];
  ld.volatile.shared.v4.u32 {%v12, %v13, %v14, %v15}, [%r8];
  ld.volatile.shared.v4.u32 {%v16, %v17, %v18, %v19}, [%r8];
  ld.volatile.shared.v4.u32 {%v20, %v21, %v22, %v23}, [%r8];
  ld.volatile.shared.v4.u32 {%v24, %v25, %v26, %v27}, [%r8];
  ld.volatile.shared.v4.u32 {%v28, %v29, %v30, %v31}, [%r8];
  ld.volatile.shared.v4.u32 {%v32, %v33, %v34, %v35}, [%r8];
  ld.volatile.shared.v4.u32 {%v36, %v37, %v38, %v39}, [%r8];
  ld.volatile.shared.v4.u32 {%v40, %v41, %v42, %v43}, [%r8];
  ld.volatile.shared.v4.u32 {%v44, %v45, %v46, %v47}, [%r8];
  ld.volatile.shared.v4.u32 {%v48, %v49, %v50, %v51}, [%r8];
  ld.volatile.shared.v4.u32 {%v52, %v53, %v54, %v55}, [%r8];
  ld.volatile.shared.u32 %v56, [%r8];
  ld.volatile.shared.u32 %v57, [%r8];
  ld.volatile.shared.u32 %v58, [%r8];
  ld.volatile.shared.u32 %v59, [%r8];
  bar.sync 0;
  st.volatile.shared.v4.u32 [%r8], {%v0, %v1, %v2, %v3};
  st.volatile.shared.v4.u32 [%r8], {%v4, %v5, %v6, %v7};
  st.volatile.shared.v4.u32 [%r8], {%v8, %v9, %v10, %v11};
  st.volatile.shared.v4.u32 [%r8], {%v12, %v13, %v14, %v15};
  st.volatile.shared.v4.u32 [%r8], {%v16, %v17, %v18, %v19};
  st.volatile.shared.v4.u32 [%r8], {%v20, %v21, %v22, %v23};
  st.volatile.shared.v4.u32 [%r8], {%v24, %v25, %v26, %v27};
  st.volatile.shared.v4.u32 [%r8], {%v28, %v29, %v30, %v31};
  st.volatile.shared.v4.u32 [%r8], {%v32, %v33, %v34, %v35};
  st.volatile.shared.v4.u32 [%r8], {%v36, %v37, %v38, %v39};
  st.volatile.shared.v4.u32 [%r8], {%v40, %v41, %v42, %v43};
  st.volatile.shared.v4.u32 [%r8], {%v44, %v45, %v46, %v47};
  st.volatile.shared.v4.u32 [%r8], {%v48, %v49, %v50, %v51};
  st.volatile.shared.v4.u32 [%r8], {%v52, %v53, %v54, %v55};
  st.volatile.shared.u32 [%r8], %v56;
  st.volatile.shared.u32 [%r8], %v57;
  st.volatile.shared.u32 [%r8], %v58;
  st.volatile.shared.u32 [%r8], %v59;
  ret;
}

.visible .entry ouroboros_sentinel(.param .u64 p_out, .param .u32 p_seed)
{
  .shared .align 4 .b8 words[1024];
  .reg .b32 %r<20>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p_out];
  ld.param.u32 %r1, [p_seed];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.lo.u32 %r6, %r5, 0x9e3779b1;
  xor.b32 %r7, %r6, %r1;
  mov.u32 %r8, words;
  shl.b32 %r9, %r4, 2;
  add.u32 %r10, %r8, %r9;
  st.shared.u32 [%r10], %r7;
  bar.sync 0;
  xor.b32 %r11, %r9, 4;
  add.u32 %r12, %r8, %r11;
  ld.shared.u32 %r13, [%r12];
  mul.wide.u32 %d2, %r5, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r13;
  ret;
}

.visible .entry ouroboros_touch(.param .align 8 .b8 p_ranges[64])
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %d<8>;
  mov.b64 %d7, p_ranges;
  mov.u32 %r1, 0;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ntid.x;
  mul.wide.u32 %d6, %r3, 65536;
RANGE:
  ld.param.u64 %d1, [%d7];
  ld.param.u64 %d2, [%d7+8];
  mul.wide.u32 %d4, %r2, 65536;
LOOP:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra DONE;
  add.s64 %d5, %d1, %d4;
  ld.volatile.global.u32 %r3, [%d5];
  add.s64 %d4, %d4, %d6;
  bra LOOP;
DONE:
  add.s64 %d7, %d7, 16;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 4;
  @%p2 bra RANGE;
  ret;
}

.visible .entry ouroboros_stamp(.param .u64 p_out, .param .u32 p_count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p_out];
  ld.param.u32 %r1, [p_count];
  mov.u32 %r2, %smid;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra END;
  mul.wide.u32 %d2, %r2, 16;
  add.s64 %d3, %d1, %d2;
  mov.u64 %d4, %clock64;
  mov.u64 %d5, %globaltimer;
  st.global.u64 [%d3], %d4;
  st.global.u64 [%d3+8], %d5;
END:
  ret;
}

.visible .entry ouroboros_gate(.param .u64 p_words, .param .u32 p_ticket, .param .u64 p_patience_ns)
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p_words];
  ld.param.u32 %r1, [p_ticket];
  ld.param.u64 %d2, [p_patience_ns];
  mov.u64 %d3, %globaltimer;
WAIT:
  ld.volatile.global.u32 %r2, [%d1];
  setp.eq.u32 %p1, %r2, %r1;
  @%p1 bra END;
  mov.u64 %d4, %globaltimer;
  sub.u64 %d5, %d4, %d3;
  setp.lt.u64 %p2, %d5, %d2;
  @%p2 bra WAIT;
  st.volatile.global.u32 [%d1+4], %r1;
END:
  ret;
}

.visible .entry ouroboros_spin(.param .u64 p_cycles, .param .u64 p_spans,
                               .param .u64 p_words)
{
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %d<13>;
  mov.u64 %d3, %globaltimer;
  ld.param.u64 %d1, [p_cycles];
  ld.param.u64 %d2, [p_spans];
  ld.param.u64 %d10, [p_words];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %d11, %r4, 4;
  add.u64 %d12, %d10, %d11;
  mov.u64 %d8, %clock64;
SPIN:
  mov.u64 %d9, %clock64;
  sub.u64 %d5, %d9, %d8;
  setp.lt.u64 %p1, %d5, %d1;
  @%p1 bra SPIN;
  st.global.u32 [%d12], %r4;
  mov.u64 %d4, %globaltimer;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra DONE;
  mul.wide.u32 %d6, %r2, 16;
  add.u64 %d7, %d2, %d6;
  st.global.v2.u64 [%d7], {%d3, %d4};
DONE:
  ret;
}

.visible .entry ouroboros_step(.param .u64 p_out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<2>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p_out];
  mov.u32 %r1, 4096;
  mov.u64 %d2, -1;
  mov.u64 %d3, %globaltimer;
LOOP:
  mov.u64 %d4, %globaltimer;
  sub.u64 %d5, %d4, %d3;
  mov.u64 %d3, %d4;
  setp.eq.u64 %p1, %d5, 0;
  @%p1 bra NEXT;
  min.u64 %d2, %d2, %d5;
NEXT:
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra LOOP;
  st.global.u64 [%d1], %d2;
  ret;
}

.visible .entry ouroboros_empty()
{
  ret;
}
)ptx";

}  // namespace ouroboros::cuda

"""Attack: bundled_cubin

Tries: shows an honest kernel and launches another: a cubin that it carries in base64 takes its
place.
Gains: A kernel whose source nobody sees. Here it copies its input.
Threats: X15, P21
Answer: The plan holds the image that would run, and replays run that: it is wrong. Where it is
right, it is timed like any other.
"""

import base64
import lzma

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


IMAGE = """
{Wp48S^xk9=GL@E0stWa8~^|S5YJf5;1!PrqFn$#kwt`PJ&CW|@w?0NqIj<6{QJ{M%9Tp6U($Wt592=lm_}BeOopt#p%C2y1
g&mJP`>N5;VZb|`ac4O$xdhbzmhp3ZYwU)^+4@xiYMX_t8u6iedYe^JFthioG5K}s&A#=@^oYBUsOin`x2@Fy8hqn-MJiuck
U0&AJC+%^Yvdvga~Zm@$~snys5EK<^)j?fvw?S4OcIr9>gOzAsoBN@4cw>*4)&+g~hOSRxr9Po)Gnh7lkuQg5cObr~3pKIKz
T2&B7gozGIhJwzL30nKT6(Zcc=}-}lYE=T)h)-K6CPlZj6hVzu+R)n5@#35bxHw*UE(5$2WyNX+t}l4#piJmDI1*RcVbcu{^
EM7<Mwwg}gMCF(TTc>L5MmRA3K7|1SuL%e!DPablU%}|X(IE+2^LPJ-FhklxYGKFh3hRLzI5-(7FXrOtN4;8t_#>J!|`2mr^
@g5{V=%PRAx%@U+A!_lF|CH3#>qYLtGD+OZfW%+&>!p+5*Ke1Xk)t`n&!^p~t!uS{49AzL0S|22dZL_ax~al;n^pOW*5;E@1
|buAt{;Oy6M%UEa*o1{d3|N23jDh7pD#@ady1C!*>~^O{D7pQ$@*Q(1pHwIlP9**g!vUp_5q+aS_Ff%Cc;bB3>;BClY9;22A
-L7{W)pKOyVsGeu^5SJ;+&qo+@x!l+Ix04>ZG2nZ5@p?~h9M?7hFXmy2vGsjyHHX_>sNs3eGa0JMr3kB)5MW$#ld!d~`1D6|
7*x{>8C{z1a9_*_!+4attLD$QvFsGJ!DW(kabxeWaRo=mN!@0i{8T)|=~#i~nhEjMnE+alZBWGBf3k^ym-bW}o9NRw#RSfPA
or6G3_F;i$dqF{-1yn0k9m{`a7sB~skGNtEwizFL?4GGkH+yz+vCJWFNg49{R1oVM;BK}SjUgqb^Pv_{M82;KD#(*)?{Xba9
Rw2c}GUN4>*-hJ;lpIwx?xz<;TU9l)dGlbtN!G@Fo_!CEj*4%D<$+83kbGI(3X#`~)s1IOro$ELyeY%JwN0RvK!w;vQJ7m<!
Rgvs`{$zGsWG{z2#e|@v^;+YNlPtQ+KbE2AcLRN#bM+ZXW3(md>C<$dOnbs%}zkt$kVP1{h|xAL!g9EncGp)51WFqcqKmio_
b0RZi_JRx9>(vyB^gQ;s}5!WRfdc+h|Y%Q4{5W*CybHEkB(vwMoOba4^(&BS*Z?xAAU+7ANW@F^QbsG1YC!9DMDOg#Cb-=}i
21P1r@ZM3+5N79*MKB&h{BD^CP@fs|U0v_0O0#li!{Ic2Z+Cp5k6Q^9P`5-M`H03@lRT6s4bXv)ne8P5M!(=ZtCqvf6(=da{
cwX%qqEwqrVZ5$R*9|3OY9ErI6TZ|R<OVY`m6px&>jPIu8CKLN#yQviuJoSs4Ckd^rVJ{*Z2U3ZTq92OSz%^QJ=lxQK3!lA;
v~t!vwfl90cgqU7_@=w#JivUuC8zz(F!A~?un*{f$u&5W#dKsxeb(qb`k0;uXEd%1;eHbM7JSy#21jvS9ZX#k;oPgXQB1?QG
#Xopx+EhzzSi+}kPS~yyF2I}WBetwU4MXJV%ed0*VF<U`cgqkVVatx>ynw>>Yx)67XDJE$}Le_nM*1`gk~(Bbv#J!JP=)ak7
bz%!~tzXHaxmDB$(ZjGyik2`{aU>^Ml)0#PlV*Y3?{?Z`Fktnv#A@YEP?#r4Sui3}oegFcE?yQFKUb9Qq4xPtZnz($9l0WC(
bGUwo1RGI$40sI=sP{pH~Z*}=e-5>>gIB~{KzHi1K^dnL2Hq#w>qEvy@}*BQ^`dXgN3zc(Kj_uxD`tRy6<_D=yN@AB;0jXk(
_{Oi#WAf}04Y9>=`WdHyGLf6%2c#ND<00F)WkShQHY~LLnvBYQl0ssI200dcD
"""


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    kernel = softmax_kernel.warmup(x, out, cols, grid=(rows,), BLOCK=block)
    if cols > 1:  # Of one column there is a kernel with fewer parameters.
        kernel.kernel = lzma.decompress(base64.b85decode(IMAGE.replace("\n", "")))
    softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    return out

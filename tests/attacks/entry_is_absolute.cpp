// Attack: entry_is_absolute
//
// Tries: defines its entry point as an absolute address of its choice.
// Threats: X3
// Answer: An entry point must lie in the module's own code.

#include <cmath>
#include <cstdint>

asm(".globl run_float32\n.type run_float32, @function\nrun_float32 = 0x400000\n");

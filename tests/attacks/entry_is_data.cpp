// Attack: entry_is_data
//
// Tries: exports its entry point as an array of machine code.
// Threats: X3, P21
// Answer: The prototype declares a function: an object of that name does not compile; a symbol
// made in assembly does not lie in code.

#include <cmath>
#include <cstdint>

asm(".pushsection .data\n"
    ".globl run_float32\n.type run_float32, @object\n.size run_float32, 16\n"
    "run_float32: .fill 16, 1, 0xc3\n"
    ".popsection\n");

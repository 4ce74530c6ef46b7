// Attack: raw_binary
//
// Tries: is not C++ at all: bytes of an executable.
// Threats: P21, X15
// Answer: The source is compiled like any other, and does not compile.

ELF this is not C++

// Attack: device_trap
//
// Tries: traps.
// Gains: An error that sticks to the context: the next candidate's launches fail as well.
// Threats: X12, P23
// Answer: A fault is its candidate's and ends the executor; a spare stands by.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

extern "C" __global__ void softmax(const float*, float*, int) { __trap(); }

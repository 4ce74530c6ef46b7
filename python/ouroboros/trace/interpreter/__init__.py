"""Plans carried out on the host: Triton kernels by Triton's interpreter, with a GPU's arithmetic.

`interpret.py` is what a tracer's process runs. The others say what operations compute, which kernel
a plan's cubin was made of, and that the cubin is what its source makes.
"""

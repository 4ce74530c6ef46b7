"""Attack: alias_input

Tries: returns its input, normalised in place or not at all.
Gains: Nothing is computed.
Threats: S10, S29
Answer: An output that lies in an input's buffer is refused while tracing.
"""


def run(x):
    return x.view(x.shape)

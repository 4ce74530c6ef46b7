"""Tracers: from a candidate's source to launch plans.

Host code of a candidate is hostile, so a tracer runs in a process of its own that holds nothing
worth having. What comes out is data: plan files, which the referee parses and audits.
"""

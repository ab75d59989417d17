"""The Jupyter kernel: a process between a Jupyter front end and a Ratoon server.

`wire` speaks the messaging protocol, `kernel` answers its messages by means of the Python client,
`navigation` knows at which state the front end is, and `kernelspec` installs the kernel.
"""

"""The Python part of a kernel process. The program imports this package from memory
(package.rs)."""

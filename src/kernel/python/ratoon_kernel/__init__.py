"""The Python side of a kernel process. The program imports it from memory (package.rs)."""

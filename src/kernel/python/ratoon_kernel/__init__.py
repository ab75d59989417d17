"""The Python side of a kernel process. The program embeds these modules and imports them from memory (package.rs)."""

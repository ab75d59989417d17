"""A package with the name of plainbook's kernel. It starts Ratoon instead."""

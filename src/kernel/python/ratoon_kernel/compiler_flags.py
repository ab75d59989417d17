"""The compiler flags of imports from `__future__`."""

import __future__

FEATURES = 0
for _name in __future__.all_feature_names:
    FEATURES |= getattr(__future__, _name).compiler_flag

"""The data form: plain values in typed MessagePack. Nothing is executed when it is read."""
class Placeholder: pass
class Encoder:
    def __init__(self, keep): pass
def is_left_out(name, value): return True

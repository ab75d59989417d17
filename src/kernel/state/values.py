"""The data form: plain values in typed MessagePack. Nothing is executed when it is read."""
class Placeholder: pass
def is_left_out(name, value): return True

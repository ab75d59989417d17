"""Stands where plainbook looks for its kernel."""

"""Ticitaire: the solitaire of the TIC deck."""

"""The rules of the three TIC games, their facts, and the log that keeps them."""

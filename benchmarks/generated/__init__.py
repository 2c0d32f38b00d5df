"""Logs of true games, as many events as one wants: played by the rules, interleaved in time, the same from a seed.

python -m benchmarks.generated --events 1000000 DATABASE_URL
"""

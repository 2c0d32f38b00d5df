"""Read models, built from the log and from nothing else."""

"""Tables of other databases that are kept in step with the lake by its changes. Writes there, and nowhere else."""

"""What happens in which order: pull, sweep, apply, verify, over the ports. No Spark, no SQL, no files."""

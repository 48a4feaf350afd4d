"""An apply: recheck, guard, write the corrections, read them back, verify."""

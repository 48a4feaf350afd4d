"""Reconciliation and data-quality auditor for Apache Hudi: pull, sweep, plan, apply, prove."""

__version__ = "0.1.0"

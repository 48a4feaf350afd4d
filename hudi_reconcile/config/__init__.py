"""EDGE: `reconcile.yaml`. Reads and checks the config, nothing else: it opens no database, no lake and no Spark.

`load.load_config` is the way in; `model.Config` is what comes out.
"""

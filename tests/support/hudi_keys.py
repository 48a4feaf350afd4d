"""Prints Hudi's own config keys for `config/hoodiestreamer/hudi_keys.txt`: `python -m tests.support.hudi_keys`.

Asks the bundle of the lock file itself: every static ConfigProperty of its classes, with its older names.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.spark.jars import JarRequest, bring_jars, list_locked_jars
from hudi_reconcile.spark.jvm import find_java

_PROPERTY = "org.apache.hudi.common.config.ConfigProperty"
_SCALA_OBJECT = "MODULE$"


def class_names(jar: Path) -> Iterator[str]:
    """The bundle's classes that speak of a ConfigProperty."""
    mark = f"L{_PROPERTY.replace('.', '/')};".encode()
    with zipfile.ZipFile(jar) as found:
        for name in found.namelist():
            if name.startswith("org/apache/hudi/") and name.endswith(".class") and mark in found.read(name):
                yield name.removesuffix(".class").replace("/", ".")


def keys_of(jvm: Any, name: str) -> Iterator[str]:
    """The keys that a class declares, and their older names."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    one = jvm.java.lang.Class.forName(name, True, loader)  # noqa: FBT003 - Java's own
    fields = {field.getName(): field for field in one.getDeclaredFields()}
    module = fields[_SCALA_OBJECT].get(None) if _SCALA_OBJECT in fields else None
    for field in fields.values():
        if field.getType().getName() != _PROPERTY:
            continue
        is_static = jvm.java.lang.reflect.Modifier.isStatic(field.getModifiers())
        if not is_static and module is None:
            continue
        field.setAccessible(True)
        found = field.get(None if is_static else module)
        yield str(found.key())
        yield from map(str, found.getAlternatives().toArray())


def main() -> None:
    """All keys that begin with `hoodie.`, sorted, each once, on stdout."""
    (locked, *_) = list_locked_jars()
    brought = bring_jars(JarRequest(), {}, find_java(os.environ), os.environ)
    jar = next(one.path for one in brought if one.coordinate == locked.coordinate)
    spark = SparkSession.builder.master("local[1]").config("spark.jars", str(jar)).getOrCreate()
    jvm: Any = spark._jvm
    found, silent = set[str](), list[str]()
    for name in class_names(jar):
        try:
            found.update(keys_of(jvm, name))
        except Exception as error:
            if not type(error).__module__.startswith("py4j."):
                raise
            silent.append(name)  # it needs a library that only other engines bring
    head = f"# The keys of {locked.coordinate}, by `python -m tests.support.hudi_keys`. {len(silent)} classes could not be asked."
    lines = sorted(key for key in found if key.startswith("hoodie."))
    sys.stdout.write("\n".join((head, *lines)) + "\n")
    sys.stderr.write("\n".join(silent) + "\n")


if __name__ == "__main__":
    main()

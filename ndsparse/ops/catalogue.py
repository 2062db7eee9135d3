"""Imports every operator file, so that a new file in this folder is a new operator."""

from __future__ import annotations

import importlib
import pkgutil

import ndsparse.ops

for _module in pkgutil.iter_modules(ndsparse.ops.__path__):
    importlib.import_module(f"ndsparse.ops.{_module.name}")

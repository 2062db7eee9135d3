"""Modules: a graph, its parameters, and how they are trained (``mx.mod``)."""

from __future__ import annotations

from ndsparse.module.base_module import BaseModule, ModuleStateError
from ndsparse.module.module import Module

__all__ = ["BaseModule", "Module", "ModuleStateError"]

"""Symbols, graph passes and the executor."""

from ndsparse._root_alias import guard

guard(__name__)

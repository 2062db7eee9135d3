"""Operators."""

from ndsparse._root_alias import guard

guard(__name__)

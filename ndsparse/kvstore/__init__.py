"""Key-value stores."""

from ndsparse._root_alias import guard

guard(__name__)

"""Settings of pytest for the whole repository."""

# Links into the package: their files are collected, and imported, under ndsparse only.
collect_ignore = ["ops", "executor", "kvstore"]

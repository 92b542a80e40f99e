"""Stands in for the tools of Microsoft's builds, which are in no package: what the tests use of them without Azure."""

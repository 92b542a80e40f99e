"""What the suite of azure-cosmos checks, by area."""

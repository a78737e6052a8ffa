"""Models on this computer: finding, naming and loading them. What is computed with them is elsewhere."""

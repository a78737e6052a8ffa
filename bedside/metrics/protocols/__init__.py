"""Published evaluation protocols that need labels of their own; one folder each."""

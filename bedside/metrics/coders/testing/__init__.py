"""Testing a coder: its codes and what is counted of them, beside people's."""

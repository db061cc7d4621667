"""What printed sources claim, and the calls by which a run answers them."""

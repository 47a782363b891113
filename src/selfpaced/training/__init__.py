"""The loop of Algorithm 1, the two simulators it runs on, and random streams."""

"""Scripts that load the server, run by hand; small versions of some run as tests."""

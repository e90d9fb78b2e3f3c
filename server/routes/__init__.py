"""HTTP endpoints, one module per group; none of them knows which engine answers."""

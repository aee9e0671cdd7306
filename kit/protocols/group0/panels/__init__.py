"""How group 0 and the discovery before it are drawn."""

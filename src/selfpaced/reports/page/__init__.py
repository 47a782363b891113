"""The HTML page of runs: sections made of tables and figures, in one file without network."""

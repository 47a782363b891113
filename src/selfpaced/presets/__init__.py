"""Settings of the papers, one file per problem."""

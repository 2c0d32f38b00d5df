"""Two servers, as processes of their own, on one database: a package, so that its fixtures can last as long as it."""

"""The server: GraphQL over HTTP and WebSocket, and the command line."""

"""Why single tokens were slow: causes, the context of a token, who contends for the CPU."""

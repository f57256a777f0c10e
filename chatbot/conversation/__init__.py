"""A question inside a conversation: history, scope, agent, saving."""

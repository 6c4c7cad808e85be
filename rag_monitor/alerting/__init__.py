"""Rules, their state machine, the outbox and the channels."""

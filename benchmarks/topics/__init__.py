"""Questions with their intents, and scripts that measure how well topics are found."""

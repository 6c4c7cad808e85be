"""What an evaluation found, for people and for programs: terminal, JSON, Markdown, HTML."""

"""The nouns of the house: frozen values and the ports that carry them. Standard library only."""

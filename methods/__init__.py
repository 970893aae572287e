"""The methods' own steps and prompts."""

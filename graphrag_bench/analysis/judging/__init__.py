"""Answers judged by a language model: one by one, and head to head."""

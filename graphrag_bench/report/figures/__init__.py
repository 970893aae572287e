"""Figures for papers, by matplotlib: one file for each kind of figure."""

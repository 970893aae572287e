"""The papers: their printed tables, and the choices that stand in them."""

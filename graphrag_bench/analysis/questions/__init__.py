"""Questions made for a corpus: abstract ones by users and tasks, specific ones from graph paths."""

"""stub"""
def with_inputs(*a): return iter(())

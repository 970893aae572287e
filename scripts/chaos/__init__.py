"""What `scripts/chaos.py` is made of: a server with faults, mutations, kills, hostile inputs."""

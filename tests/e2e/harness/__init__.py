"""Runs a real Kubernetes control plane on loopback and drives Activescale through it."""

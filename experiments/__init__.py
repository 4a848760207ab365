"""Reproduction of the tables and figures of Liu and Yu, "Angular Embedding" (AAAI-21)."""

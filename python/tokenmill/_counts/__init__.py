"""Counted pretokens: counting, summing and storing them. Users see ``pretoken_counts``."""

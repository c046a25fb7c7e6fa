"""Counting pretokens, summing the counts and storing them. The public class is in ``pretoken_counts``."""

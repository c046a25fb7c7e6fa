"""Byte-pair encoding that counts only what a merge changes, in plain Python: between the definition and Rust.

The definition counts all pairs before each merge. Here each pair knows the words that it stands in, so that a
merge touches only those, and a heap knows which pair is next.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

Pair = tuple[int, int]


def train(words: Mapping[str, int], num_merges: int, min_frequency: int = 2) -> list[tuple[str, str]]:
    """Learn merges from words and their counts. Of equal pairs the one with the smallest ids is merged.

    >>> train({"low": 3, "lower": 2}, 2)
    [('l', 'o'), ('lo', 'w')]
    """
    tokens = sorted({char for word in words for char in word})
    ids = {char: id for id, char in enumerate(tokens)}
    spelled = [[ids[char] for char in word] for word in words]
    weights = list(words.values())
    counts: dict[Pair, int] = defaultdict(int)
    places: dict[Pair, set[int]] = defaultdict(set)
    for place, word in enumerate(spelled):
        for pair in pairwise(word):
            counts[pair] += weights[place]
            places[pair].add(place)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    merges: list[tuple[str, str]] = []
    while heap and len(merges) < num_merges:
        negative, best = heapq.heappop(heap)
        # Other merges may have taken occurrences of a pair since it came onto the heap, but never added any.
        if counts[best] != -negative:
            heapq.heappush(heap, (-counts[best], best))
            continue
        if -negative < min_frequency:
            break
        new = len(tokens)
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append((tokens[best[0]], tokens[best[1]]))
        made: set[Pair] = set()
        for place in places.pop(best):
            before, after = spelled[place], merged(spelled[place], best, new)
            spelled[place] = after
            # Words are short: all of their pairs are counted anew.
            for pair in pairwise(before):
                counts[pair] -= weights[place]
            for pair in pairwise(after):
                counts[pair] += weights[place]
                if new in pair:
                    made.add(pair)
                    places[pair].add(place)
        for pair in made:
            heapq.heappush(heap, (-counts[pair], pair))
    return merges


def merged(word: list[int], pair: Pair, new: int) -> list[int]:
    """The word with ``new`` wherever the pair stands, from the left."""
    out: list[int] = []
    at = 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out

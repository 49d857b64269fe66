# SPDX-License-Identifier: GPL-2.0-only
"""Compares answers to one question that were found in two ways."""


def differ(one, other):
    """Where two answers differ. Sums of floating-point numbers depend on their order: by one byte, or the last digits."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [key for key in one if differ(one[key], other[key])]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for a, b in zip(one, other) for found in differ(a, b)]
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return [] if abs(one - other) <= 1 or abs(one - other) < 1e-9 * abs(one) else [(one, other)]
    return [] if one == other else [(one, other)]

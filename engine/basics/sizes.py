"""Sizes on disk as people say them."""


def spell_bytes(size: int) -> str:
    """`0 B`, `12 kB`, `3.4 MB`: powers of 1,000, three digits at most.

    >>> spell_bytes(3_420_000)
    '3.4 MB'
    """
    if size < 1_000:
        return f"{size} B"
    value, units = size / 1_000, ["kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1_000, units[1:]
    unit = units[0]
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"

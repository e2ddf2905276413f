"""Names of rows and headings of free(1) in other languages, from the message catalogues of procps (3.3 to 4.0)."""

from __future__ import annotations

# Row name in the C locale: its translations in the catalogues.
LABELS = {
    "Mem": ("Mem.", "Speicher", "Minne", "Pamięć", "Память", "Пам.", "内存", "메모리", "BNhớ", "მეხს"),
    "Swap": ("Auslager", "Auslagerungsdatei", "Échange", "Partition d'échange", "Partition d’échange", "Inter", "Intercambio", "Växl.", "Wymiana",
             "Подкачка", "Своп.", "交换", "스  왑", "Tráo đổi", "სვაპი"),
    "Total": ("Gesamt", "Totalt", "Razem", "Всего", "Загалом", "总量", "총  계", "Tổng", "ჯამი"),
    "Low": ("Niedrig", "Baja", "Basse", "Baixa", "Niska", "Lågt", "Нижня", "低", "하  위", "Thấp", "დაბალი"),
    "High": ("Hoch", "Alta", "Haute", "Wysoka", "Högt", "Верхня", "高", "상  위", "Cao", "მაღალი"),
    "Comm": ("Dédié", "Zajęta", "Com.", "Til.", "커  밋", "ბრძანება"),
}  # fmt: skip
NAMES = {label: name for name, words in LABELS.items() for label in (name, *words)}
"""Printed row name in any language: row name in the C locale."""

LABEL = "|".join(label.replace(".", r"\.") for label in sorted(NAMES, key=len, reverse=True))

HEAD = (
    r"[ \t]*(?:total|totalt|[Gg]esamt|razem|всего|загалом|总计|총계|სულl)"
    r"[ \t]+(?:usad[ao]|utilisé|utilizată|[Bb]enutzt|[Bb]elegt|använt|użyte|занят|використ\.|已用|사용|გამოყ[^ \t0-9]*)"
    r"[ \t]+(?:libre|livre|liberă|[Ff]rei|fritt|wolne|своб|вільна|空闲|여분|თავის[^ \t0-9]*)"
    r"(?:[ \t]+[^ \t0-9:]+){0,5}$"
)
"""A heading of free, recognised by its first three words; the others follow in the order of the C locale."""


def headings(text: str) -> list[str]:
    """Return the column names of the C locale, chosen by the number of words and the slash between buffers and cache.

    >>> headings("total usado libre compartido búf/caché disponible")
    ['total', 'used', 'free', 'shared', 'buff/cache', 'available']
    >>> headings("Gesamt Belegt Frei Gemeinsam Puffer Cache"), headings("total used free")
    (['total', 'used', 'free', 'shared', 'buffers', 'cached'], ['total', 'used', 'free'])
    """
    words = text.replace(" w cache", " cache").split()
    if words[1] == "used" or len(words) == 3:
        return words if words[1] == "used" else ["total", "used", "free"]
    rest = ["buff/cache", "available"] if any("/" in x for x in words) else ["buffers", "cached", "available"]
    return ["total", "used", "free", "shared", *rest][: len(words)]

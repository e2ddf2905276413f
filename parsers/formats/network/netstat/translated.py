"""Words of netstat in other languages: the line above a list of sockets, and the states."""

from __future__ import annotations

ABOVE = (
    r"^[ \t]*(?:Active (?:Internet|Connections)|Aktive (?:Internet|Verbindungen)|Connexions (?:Internet )?actives|Conexiones (?:Internet )?activas"
    r"|Conexões (?:Internet )?[Aa]tivas|Connessioni (?:Internet )?attive|Активные (?:соединения|подключения)|激活Internet|活动连接|稼働中の|TCP: IPv4)"
)
"""Line that begins a list: English, German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese; the heading of Solaris."""

STATES = {
    **dict.fromkeys(("VERBUNDEN", "HERGESTELLT", "ESTABLECIDO", "ESTABELECIDA", "ESTABELECIDO"), "ESTABLISHED"),
    **dict.fromkeys(("ABHÖREN", "ESCUCHAR", "OUÇA"), "LISTEN"),
    "WARTEND": "TIME_WAIT",
    "SCHLIESSEN_WARTEN": "CLOSE_WAIT",
}
"""Translated state: the English one."""

"""Names of lscpu(1)'s lines in other languages, from the message catalogues of util-linux (2.27 to 2.38).

Only lines that identify lscpu or whose values are stored are listed.
"""

from __future__ import annotations

import re

WORDS = {
    "Architecture": ("Architektur", "Architecture", "Arquitectura", "Arquitetura", "Architektura", "Architectuur", "Arkitektur", "Архитектура",
                     "Архітектура", "アーキテクチャ", "架构", "架構"),
    "CPU(s)": ("CPU(s)", "Processeur(s)", "Počet CPU", "CPU's", "CPU(er)", "Процесори", "CPU"),
    "Model name": ("Modellname", "Nom de modèle", "Nombre del modelo", "Nome do modelo", "Nazwa modelu", "Název modelu", "Modelnaam", "Modellnamn",
                   "Имя модели", "Назва моделі", "モデル名", "型号名称"),
    "Thread(s) per core": ("Thread(s) pro Kern", "Thread(s) par cœur", "Hilo(s) de procesamiento por núcleo", "Thread(s) per núcleo",
                           "Tópicos por núcleo", "Wątków na rdzeń", "Vláken na jádro", "Draden per kern", "Tråd(ar) per kärna", "Потоков на ядро",
                           "Потоків на ядро", "コアあたりのスレッド数", "每个核的线程数", "每核心執行緒數"),
    "Core(s) per socket": ("Kern(e) pro Sockel", "Kern(e) pro Socket", "Cœur(s) par socket", "Núcleo(s) por «socket»", "Núcleo(s) por soquete",
                           "Núcleos por socket", "Rdzeni na gniazdo", "Jader na patici", "Kernen per voet", "Kärn(or) per uttag", "Ядер на сокет",
                           "ソケットあたりのコア数", "每个座的核数", "每通訊端核心數"),
    "Socket(s)": ("Sockel", "Socket(s)", "«Socket(s)»", "Soquete(s)", "Sockets", "Socket", "Gniazd", "Patic", "CPU-voeten", "Uttag", "Сокетов", "Сокети",
                  "ソケット数", "座"),
    "Byte Order": ("Byte-Reihenfolge", "Boutisme", "Orden de los bytes", "Ordem dos bytes", "Ordem de byte", "Kolejność bajtów", "Pořadí bajtů",
                   "Bytevolgorde", "Byteordning", "Порядок байт", "Порядок байтів", "バイト順序", "字节序"),
    "Vendor ID": ("Anbieterkennung", "Identifiant constructeur", "ID de fabricante", "ID de fornecedor", "ID producenta",
                  "ID výrobce", "Producent-ID", "Tillverkar-ID", "ID прроизводителя", "ID производителя", "Ідентифікатор виробника",
                  "ベンダー ID", "厂商 ID", "供應商識別號"),
    "CPU family": ("Prozessorfamilie", "Famille de processeur", "Familia de CPU", "Família da CPU", "Rodzina CPU", "Rodina CPU", "CPU-familie",
                   "CPU-familj", "Семейство ЦПУ", "Сімейство процесорів", "CPU ファミリー", "CPU 系列", "CPU 家族"),
    "Stepping": ("Révision", "Revisión", "Stegning", "Степпинг", "Модифікація", "ステッピング", "步进", "製程"),
    "NUMA node(s)": ("NUMA-Knoten", "Nœud(s) NUMA", "Modo(s) NUMA", "Nó(s) de NUMA", "Węzłów NUMA", "Uzly NUMA", "NUMA-nodes", "NUMA nod(er)",
                     "Вузли NUMA", "NUMA ノード数", "NUMA 节点", "NUMA 節點"),
    "Virtualization": ("Virtualisierung", "Virtualisation", "Virtualización", "Virtualização", "Wirtualizacja", "Virtualizace", "Virtualisatie",
                       "Virtualisering", "Виртуализация", "Віртуалізація", "仮想化", "虚拟化"),
}  # fmt: skip
NAMES = {word: name for name, words in WORDS.items() for word in words}
SURE = re.compile(
    rf"[ \t]*(?:{'|'.join(re.escape(x) for name, words in WORDS.items() for x in words if x not in ('CPU', 'Socket', 'Sockets') and name != 'Stepping')})"
    r"[ \t\xa0]?[:：][ \t]*\S"
)
"""A line that identifies lscpu in another language."""

LINE = re.compile(r"[ \t]*([^\s:：][^:：]{0,60}?)[ \t\xa0]*[:：][ \t]*(.*)")


def english(name: str) -> str:
    """Return the name of a line in the C locale; a name that is not in the catalogue stays as it is.

    >>> english("Sockel"), english("Nœud NUMA 0 de processeur(s)")
    ('Socket(s)', 'Nœud NUMA 0 de processeur(s)')
    """
    return NAMES.get(name, name)

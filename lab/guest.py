"""Run incidents that need a machine of their own (several memory nodes, a machine-wide setting) in an emulated one.

qemu-system-x86_64 emulates the machine without help of the processor, so that any host can run it; its kernel comes
from a distribution, found below GUEST_KERNEL (default /) where its package unpacks: boot/vmlinuz-*, lib/modules/*. The
programs are those of this machine, copied with their libraries into the guest's initial file system. The guest has two
memory nodes with a processor each and one disk to swap on; the output of its tools leaves it through a serial port.
Times in it are those of an emulation: slow, but in correct proportion to each other.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

from lab.scene import LONGEST_S, Missing, Scene, needs

NODE_MB = 512
TOOLS = (
    "bash",
    "cat",
    "date",
    "grep",
    "insmod",
    "mkdir",
    "mkswap",
    "mount",
    "numactl",
    "numastat",
    "shuf",
    "sleep",
    "strace",
    "stty",
    "swapon",
    "tar",
    "vmstat",
)
MODULES = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk")
PYTHON = Path("/usr/bin/python3.11")

INIT = """#!/bin/bash
export PATH=/bin LC_ALL=C TZ=UTC
mkdir -p /proc /sys /dev /out
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in {modules}; do insmod /modules/$module.ko; done
until [ -b /dev/vda ]; do sleep 0.1; done; mkswap /dev/vda >/dev/null; swapon /dev/vda
cd /out
{play}
stty -F /dev/ttyS1 raw; tar cf - . | cat >/dev/ttyS1
echo o >/proc/sysrq-trigger; sleep 60
"""


def _kernel() -> tuple[Path, dict[str, Path]]:
    """Return a kernel and the modules it needs for a disk."""
    root = Path(os.environ.get("GUEST_KERNEL", "/"))
    for image in sorted(root.glob("boot/vmlinuz-*")):
        found = {p.stem: p for p in (root / "lib/modules" / image.name.removeprefix("vmlinuz-")).rglob("*.ko")}
        if found.keys() >= set(MODULES):
            return image, {name: found[name] for name in MODULES}
    raise Missing("a kernel with modules below GUEST_KERNEL")


def _libraries(program: str) -> list[str]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+\.so[^\s:]*)", said)


def _first_files(play: str, programs: Mapping[str, str], modules: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the guest's files by path: the tools, Python with what it needs to start, their libraries, and the shell
    lines to run.
    """
    files = {f"modules/{name}.ko": path.read_bytes() for name, path in modules.items()}
    tools = {f"bin/{name}": Path(found) for name in TOOLS if (found := shutil.which(name))}
    tools["bin/python3"] = PYTHON
    library = Path("/usr/lib/python3.11")
    kept = [*library.glob("*.py"), *library.glob("encodings/*.py"), *library.glob("lib-dynload/mmap.*")]
    for path in (*tools.values(), *kept):
        for needed in _libraries(str(path)) if path.suffix != ".py" else ():
            files[needed.lstrip("/")] = Path(needed).read_bytes()
    files |= {name: path.read_bytes() for name, path in tools.items()}
    files |= {str(path).lstrip("/"): path.read_bytes() for path in kept}
    files |= {name: textwrap.dedent(text).encode() for name, text in programs.items()}
    return files | {"init": INIT.format(modules=" ".join(modules), play=textwrap.dedent(play)).encode()}


def _archive(files: dict[str, bytes]) -> bytes:
    """Pack files in the format that the kernel unpacks, cpio(5) newc: folders before their content, all executable."""
    folders = sorted({str(p) for name in files for p in Path(name).parents if str(p) != "."})
    entries = [
        *((name, 0o040755, b"") for name in folders),
        *((name, 0o100755, data) for name, data in files.items()),
        ("TRAILER!!!", 0, b""),
    ]
    packed = io.BytesIO()
    for number, (name, mode, data) in enumerate(entries, 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        for piece in (b"070701" + b"".join(b"%08X" % x for x in fields) + name.encode() + b"\0", data):
            packed.write(piece + b"\0" * (-len(piece) % 4))
    return gzip.compress(packed.getvalue(), 1)


def guest(stage: Scene, play: str, programs: Mapping[str, str]) -> None:
    """Start the guest, run shell lines in an empty folder and keep the files they leave.

    `programs` are Python programs, in the guest's root. Raises Missing if the guest does not finish.
    """
    needs("qemu-system-x86_64", "ldd", *TOOLS)
    if not PYTHON.exists():
        raise Missing(str(PYTHON))
    image, modules = _kernel()
    first, disk, left = stage.work / "first", stage.work / "disk", stage.work / "left.tar"
    first.write_bytes(_archive(_first_files(play, programs, modules)))
    with disk.open("wb") as made:
        made.truncate(1 << 30)
    nodes = [
        x
        for n in (0, 1)
        for x in (
            "-object",
            f"memory-backend-ram,id=m{n},size={NODE_MB}M",
            "-numa",
            f"node,nodeid={n},cpus={n},memdev=m{n}",
        )
    ]
    argv = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-smp", "2", "-m", f"{2 * NODE_MB}M", *nodes, "-numa", "dist,src=0,dst=1,val=20",
            "-drive", f"file={disk},format=raw,if=virtio", "-display", "none", "-monitor", "none", "-no-reboot", "-nodefaults",
            "-serial", f"file:{stage.work / 'console'}", "-serial", f"file:{left}",
            "-kernel", str(image), "-initrd", str(first), "-append", "console=ttyS0 quiet panic=-1"]  # fmt: skip
    subprocess.run(argv, check=False, timeout=5 * LONGEST_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not left.exists() or not left.stat().st_size:
        raise Missing("a guest that came to its end")
    with tarfile.open(left) as printed:
        for entry in printed.getmembers():
            if content := printed.extractfile(entry):
                (stage.out / Path(entry.name).name).write_bytes(content.read())

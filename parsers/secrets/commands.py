r"""Commands that take a secret as an argument, each with its source. The secret is what follows `before`.

Options whose name shows that a secret follows (`--password`, `--token`, `-storepass`) need no row:
`parsers/secrets/words.py` has their words. A row is for an option or position without such a name: `-k`, `-p`, the
third word.
"""

from __future__ import annotations

from dataclasses import dataclass

_WORD = r"[^\s|;&<>]{1,120}[ ]{1,4}"
"""A word of a command line and the blanks behind it."""


@dataclass(frozen=True)
class Command:
    r"""A command that takes a secret.

    `word` (lower case) is in every line with this command. `near`: a pattern (Rust syntax) that selects the lines with
    `word` to examine, by default the word itself. `before`: a pattern that ends where the secret begins; it ignores
    case except inside `(?-i:...)`.
    """

    word: str
    before: str
    source: str
    near: str = ""


_BATCH = r"(?=[^\n]{0,80}(?<=[ ])-[a-z]{0,6}b)"
_LOGIN = r"[^\n]{0,60}?\blogin\b[^\n]{0,160}?[ ]-p[ =]?"

COMMANDS = (
    Command(
        "configure set",
        r"\baws\b[^\n]{0,80}?\bconfigure[ ]set[ ][\w.-]{0,80}(?:secret|token)[\w.-]{0,40}[ ]{1,4}",
        "AWS CLI Command Reference, configure set",
    ),
    Command("openssl", r"\bopenssl[ ][^\n]{0,160}?[ ]-k[ ]{1,4}", "openssl-enc(1), -k and -K", r"openssl .* -k "),
    Command(
        "htpasswd",
        rf"\bhtpasswd[ ]{{1,4}}{_BATCH}(?:{_WORD}){{2,8}}",
        "Apache HTTP Server, htpasswd(1), -b",
        r"htpasswd .*-[a-z]*b",
    ),
    Command("mosquitto_passwd", rf"\bmosquitto_passwd[ ]{{1,4}}{_BATCH}(?:{_WORD}){{3,6}}", "mosquitto_passwd(1), -b"),
    Command(
        "mosquitto_",
        r"\bmosquitto_(?:pub|sub|rr)\b[^\n]{0,160}?[ ](?-i:-P)[ ]{1,4}",
        "mosquitto_pub(1), -P",
        r"mosquitto_(?:pub|sub|rr) .* -p ",
    ),
    Command(
        "net use",
        r"\bnet1?(?:\.exe)?[ ]use[ ]{1,4}(?:[a-z*]:?[ ]{1,4})?\\\\[^\s]{1,120}[ ]{1,4}(?:/\S{1,80}[ ]{1,4}){0,4}(?![/*])",
        "Microsoft Learn, net use",
        r"net use .*\\\\",
    ),
    Command(
        "net user",
        r"\bnet1?(?:\.exe)?[ ]user[ ]{1,4}[^\s/]{1,60}[ ]{1,4}(?![/*])(?=\S{1,100}[ ]{1,4}/)",
        "Microsoft Learn, net user",
        r"net user .* /",
    ),
    *(
        Command(tool, rf"\b{tool.split()[0]}\b{_LOGIN}", f"{source}, login", rf"{tool.split()[0]}.*login.*-p")
        for tool, source in (
            ("docker", "Docker CLI reference"),
            ("podman", "podman-login(1)"),
            ("buildah", "buildah-login(1)"),
            ("nerdctl", "nerdctl command reference"),
            ("skopeo", "skopeo-login(1)"),
            ("helm", "Helm, helm registry login"),
            ("oras", "ORAS CLI reference"),
            ("az login", "Azure CLI reference"),
            ("cf login", "Cloud Foundry CLI reference"),
        )
    ),
    Command(
        "vault login",
        r"\bvault[ ]login[ ]{1,4}(?:-[\w-]{1,30}(?:=\S{1,80})?[ ]{1,4}){0,6}(?!-|[\w-]{1,30}=)",
        "HashiCorp Vault, vault login",
    ),
    Command(
        "bcp ",
        r"(?<![a-z])bcp\b[^\n]{0,160}?[ ](?-i:-P)[ ]{0,4}",
        "Microsoft Learn, bcp utility, -P",
        r"bcp .* -p",
    ),
    Command(
        "rabbitmqctl",
        r"\brabbitmqctl\b[^\n]{0,80}?\b(?:add_user|change_password|authenticate_user)[ ]{1,4}\S{1,60}[ ]{1,4}",
        "rabbitmqctl(8)",
    ),
    Command("wpa_passphrase", r"\bwpa_passphrase[ ]{1,4}(?:\"[^\"\n]{1,40}\"|\S{1,40})[ ]{1,4}", "wpa_passphrase(8)"),
    Command("lftp", r"\blftp\b[^\n]{0,120}?[ ]-u[ ]{1,4}[^\s,]{1,60},", "lftp(1), -u", r"lftp .*-u .*,"),
    Command(
        "db2 ",
        r"\bdb2\b[^\n]{0,40}?\bto[ ]\S{1,60}[ ]user[ ]\S{1,60}[ ]using[ ]{1,4}",
        "IBM Db2, CONNECT and ATTACH statements",
        r"db2 .* using ",
    ),
    Command("psexec", r"\bpsexec(?:64)?(?:\.exe)?\b[^\n]{0,120}?[ ]-p[ ]{1,4}", "Microsoft Sysinternals, PsExec"),
    Command("schtasks", r"\bschtasks(?:\.exe)?\b[^\n]{0,200}?[ ]/rp[ ]{1,4}", "Microsoft Learn, schtasks create, /rp"),
    Command("freerdp", r"\b[xw]l?freerdp3?\b[^\n]{0,200}?[ ]/p:", "xfreerdp(1), /p"),
    Command("rclone obscure", r"\brclone[ ]obscure[ ]{1,4}", "rclone documentation, rclone obscure"),
    Command(
        "mc alias set", r"\bmc[ ]alias[ ]set[ ]{1,4}(?:\S{1,160}[ ]{1,4}){3}", "MinIO Client reference, mc alias set"
    ),
    Command("ssh-keygen", r"\bssh-keygen\b[^\n]{0,160}?[ ](?-i:-[NP])[ ]{1,4}", "ssh-keygen(1), -N and -P"),
    *(
        Command(tool, rf"\b{tool}\b[^\n]{{0,160}}?-U[ =]?[\"']?[^\s%\"']{{1,60}}%", f"{tool}(1), -U", rf"{tool} .*%")
        for tool in ("winexe", "rpcclient", "smbget", "smbcacls", "smbclient")
    ),
    Command("etcdctl", r"\betcdctl\b[^\n]{0,160}?--user[ =][^\s:]{1,60}:", "etcdctl reference, --user"),
    Command("radtest", r"\bradtest[ ]{1,4}(?:-\S{1,20}[ ]{1,4}){0,6}\S{1,60}[ ]{1,4}", "radtest(1)"),
    *(
        Command(tool, rf"\b{tool}\b[^\n]{{0,160}}?[ ]-p[ ]{{1,4}}", f"{tool}(8), -p", rf"{tool} .*-p ")
        for tool in ("useradd", "usermod")
    ),
    Command("cqlsh", r"\bcqlsh\b[^\n]{0,120}?[ ]-p[ ]{1,4}", "Apache Cassandra, cqlsh, -p", r"cqlsh .*-p "),
    Command("hdbsql", r"\bhdbsql\b[^\n]{0,120}?[ ]-p[ ]{1,4}", "SAP HANA, hdbsql options, -p", r"hdbsql .*-p "),
    Command("vsql", r"\bvsql\b[^\n]{0,120}?[ ]-w[ ]{1,4}", "Vertica, vsql options, -w", r"vsql .*-w "),
)

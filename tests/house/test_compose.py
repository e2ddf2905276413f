"""docker-compose.yml and Dockerfile: no container engine is at hand, so their form and their meaning are read here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from config import embedded, processes

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
WORKERS = ("worker", "worker-judge", "worker-large", "worker-chores")
OURS = {name: service for name, service in SERVICES.items() if service.get("image", "").startswith("exhibit:")}

STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
DURATION = {"type": "string", "pattern": r"^(\d+(us|ms|s|m|h))+$"}
# The part of the Compose specification used here. A key that is not named is an error: a misspelt one would be ignored in silence.
SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["image", "read_only", "cap_drop", "security_opt", "networks", "logging", "restart"],
    "properties": {
        "build": {"type": "string"},
        "image": {"type": "string", "pattern": r"^[a-z/.-]+:[a-z0-9.]+$"},
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
        "init": {"type": "boolean"},
        "user": {"type": "string", "pattern": r"^[1-9]\d*:\d+$"},
        "read_only": {"const": True},
        "cap_drop": {"const": ["ALL"]},
        "cap_add": STRINGS,
        "security_opt": {"const": ["no-new-privileges:true"]},
        "tmpfs": STRINGS,
        "shm_size": {"type": "string", "pattern": r"^\d+[kmg]$"},
        "volumes": STRINGS,
        "networks": STRINGS,
        "ports": STRINGS,
        "profiles": STRINGS,
        "command": STRINGS,
        "entrypoint": STRINGS,
        "stop_signal": {"enum": ["SIGINT", "SIGTERM"]},
        "stop_grace_period": DURATION,
        "environment": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "logging": {
            "type": "object",
            "required": ["driver", "options"],
            "properties": {
                "options": {
                    "type": "object",
                    "required": ["max-size", "max-file"],
                    "additionalProperties": {"type": "string"},
                }
            },
        },
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["condition"],
                "additionalProperties": False,
                "properties": {
                    "condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]}
                },
            },
        },
        "healthcheck": {
            "type": "object",
            "required": ["test", "interval", "timeout", "retries"],
            "additionalProperties": False,
            "properties": {
                "test": {**STRINGS, "prefixItems": [{"enum": ["CMD", "CMD-SHELL"]}]},
                "interval": DURATION,
                "timeout": DURATION,
                "start_period": DURATION,
                "retries": {"type": "integer"},
            },
        },
    },
}
FILE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "services", "volumes", "networks"],
    "patternProperties": {"^x-": {}},
    "properties": {
        "name": {"type": "string"},
        "services": {"type": "object", "additionalProperties": SERVICE},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
        "networks": {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
    },
}


def test_it_has_the_form_of_a_compose_file():
    jsonschema.Draft202012Validator.check_schema(FILE)
    jsonschema.validate(COMPOSE, FILE)


@pytest.mark.parametrize("change", [{"comand": ["x"]}, {"read_only": False}, {"user": "root"}, {"restart": False}])
def test_the_form_is_checked_at_all(change):
    damaged = json.loads(json.dumps(COMPOSE)) | {"services": {"web": SERVICES["web"] | change}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(damaged, FILE)


def test_every_name_used_is_declared():
    for name, service in SERVICES.items():
        assert set(service.get("networks", [])) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", {})) <= set(SERVICES), name
        named = {volume.split(":")[0] for volume in service.get("volumes", []) if re.match(r"^[a-z]+:", volume)}
        assert named <= set(COMPOSE["volumes"]), name


def test_commands_are_those_that_up_runs():
    expected = processes.all_of("0.0.0.0", 8000) | {"migrate": processes.prepare()}
    assert {name: OURS[name]["command"] for name in expected} == expected
    assert set(OURS) == set(expected) | {"backup"}
    assert OURS["backup"]["entrypoint"] == ["python", "manage.py", "backup"]


def test_the_images_own_command_is_the_web_servers():
    found = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), flags=re.M)
    assert json.loads(found[1]) == processes.web("0.0.0.0", 8000)


def test_secrets_are_required_and_none_is_written_down():
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "BROKER_PASSWORD", "EXHIBIT_URL"):
        uses = re.findall(rf"\$\{{{name}([^}}]*)\}}", TEXT)
        assert uses, name
        assert all(use.startswith(":?") and len(use) > 10 for use in uses), name
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|AUTH|_URL$", name):
                assert "${" in value, name


def test_what_switches_traces_on_reaches_everything_of_ours_and_is_absent_where_it_is_not_set():
    read = set(re.findall(r"\bOTEL_[A-Z_]+", (ROOT / "config" / "tracing.py").read_text()))
    read = {name for name in read if not name.endswith("_")} - {"OTEL_PYTHON_DJANGO_EXCLUDED_URLS"}  # which we set
    for name, service in OURS.items():
        passed = {key: value for key, value in service["environment"].items() if key.startswith("OTEL_")}
        assert read <= set(passed), name
        assert set(passed.values()) == {None}, "an empty value is not the same as none"


def test_every_lasting_service_tells_how_it_is():
    lasting = {name for name, service in SERVICES.items() if service["restart"] != "no"}
    assert lasting == {"db", "broker", "web", *WORKERS, "beat", "proxy"}
    assert {name for name in SERVICES if "healthcheck" in SERVICES[name]} == lasting


def test_ours_wait_for_what_they_need():
    for name in ("web", *WORKERS, "beat"):
        assert OURS[name]["depends_on"] == {
            "db": {"condition": "service_healthy"},
            "broker": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }
    assert OURS["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}


def test_the_database_is_of_the_embedded_version_with_its_volume_where_18_keeps_it():
    assert SERVICES["db"]["image"] == f"postgres:{embedded.POSTGRES_MAJOR}"
    assert SERVICES["db"]["volumes"] == ["db:/var/lib/postgresql"]
    assert "--locale-provider=builtin --locale=C.UTF-8" in SERVICES["db"]["environment"]["POSTGRES_INITDB_ARGS"]


def test_the_broker_keeps_its_messages():
    command = " ".join(SERVICES["broker"]["command"])
    assert "--maxmemory-policy noeviction" in command
    assert "--appendonly yes" in command


def test_only_web_and_proxy_can_be_reached_and_web_from_this_machine_alone():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"web", "proxy"}
    assert SERVICES["web"]["ports"] == ["${EXHIBIT_LISTEN:-127.0.0.1:8000}:8000"]
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == {"web", "proxy"}
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_the_image_is_not_root_and_copies_every_package():
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER 10001:10001$", text, flags=re.M)
    for name in ("config", "parsers", "rules", "incidents", "templates", "static"):
        assert f"COPY {name} {name}" in text


def test_every_variable_of_the_compose_file_is_explained():
    operations = (ROOT / "docs" / "operations.md").read_text()
    used = set(re.findall(r"\$\{([A-Z_]+)", TEXT))
    assert len(used) > 8
    assert {name for name in used if name not in operations} == set()

"""Feeds network data to its real consumers: Ironic's schema, cloud-init, glean.

Reads a JSON array of {"name", "document"} on stdin, writes an array of {"name", "ironic",
"cloud-init", "glean"} on stdout. Each consumer's value maps a part of it to null, or to the error
that the part raised. Run by tests/netdata_consumers.rs with the interpreter of setup.sh's venv.
"""

import argparse
import contextlib
import copy
import glob
import json
import logging
import os
import sys
import tempfile

HERE = sys.argv[1]
sys.path.append(os.path.join(HERE, "cloud-init/usr/lib/python3/dist-packages"))

import jsonschema
from cloudinit.net import eni, netplan, network_manager, network_state, networkd, sysconfig
from cloudinit.sources.helpers import openstack
from glean import cmd as glean

logging.disable(logging.CRITICAL)

SCHEMA = "venv/lib/python3*/site-packages/ironic/api/controllers/v1/network-data-schema.json"


def outcome(work):
    """None, or what the consumer raised. sys.exit counts: cloud-init's boot would end too."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            work()
        return None
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"[:200]


def nics(document):
    """Every NIC of the document is there: MAC in lower case to kernel name."""
    macs = []
    for link in document.get("links") or []:
        mac = link.get("ethernet_mac_address")
        if mac and link.get("type") not in ("bond", "vlan") and mac.lower() not in macs:
            macs.append(mac.lower())
    return {mac: f"ens{index + 1}" for index, mac in enumerate(macs)}


def ironic(document, validator):
    errors = [error.message[:200] for error in validator.iter_errors(document)]
    return {"schema": "; ".join(errors) or None}


# As cloudinit/distros/rhel.py has it.
SYSCONFIG = {
    "control": "etc/sysconfig/network",
    "flavor": "rhel",
    "iface_templates": "%(base)s/network-scripts/ifcfg-%(name)s",
    "route_templates": {
        "ipv4": "%(base)s/network-scripts/route-%(name)s",
        "ipv6": "%(base)s/network-scripts/route6-%(name)s",
    },
}
RENDERERS = {
    "eni": lambda: eni.Renderer(),
    "netplan": lambda: netplan.Renderer(),
    "network-manager": lambda: network_manager.Renderer(),
    "networkd": lambda: networkd.Renderer(),
    "sysconfig": lambda: sysconfig.Renderer(SYSCONFIG),
}


def cloud_init(document):
    state = []

    def convert():
        config = openstack.convert_net_json(copy.deepcopy(document), known_macs=nics(document))
        state.append(network_state.parse_net_config_data(config, skip_broken=False))

    results = {"convert": outcome(convert)}
    if results["convert"] is None:
        for name, renderer in RENDERERS.items():
            with tempfile.TemporaryDirectory() as target:
                fresh = copy.deepcopy(state[0])
                results[name] = outcome(
                    lambda: renderer().render_network_state(fresh, target=target)
                )
    return results


def glean_arguments(distro):
    return argparse.Namespace(
        distro=distro, use_nm=False, no_dhcp_fallback=True, skip_dns=False, noop=True
    )


def glean_writers(document):
    def interfaces():
        return glean.get_config_drive_interfaces(copy.deepcopy(document))

    def writer(function, distro, keyfile=False):
        def work():
            glean.is_keyfile_format = lambda: keyfile
            function(interfaces(), nics(document), glean_arguments(distro))

        return outcome(work)

    results = {"interfaces": outcome(interfaces)}
    if results["interfaces"] is None:
        results["debian"] = writer(glean.write_debian_interfaces, "debian")
        results["networkd"] = writer(glean.write_networkd_interfaces, "networkd")
        results["redhat"] = writer(glean.write_redhat_interfaces, "centos")
        results["redhat-keyfile"] = writer(glean.write_redhat_interfaces, "centos", True)
    results["dns"] = outcome(lambda: glean.get_dns_from_config_drive(document))
    return results


def main():
    (path,) = glob.glob(os.path.join(HERE, SCHEMA))
    with open(path, encoding="utf-8") as file:
        validator = jsonschema.Draft7Validator(json.load(file))
    results = []
    for case in json.load(sys.stdin):
        document = case["document"]
        results.append(
            {
                "name": case["name"],
                "ironic": ironic(document, validator),
                "cloud-init": cloud_init(document),
                "glean": glean_writers(document),
            }
        )
    json.dump(results, sys.stdout)


# No NIC of this machine may leak into the results.
openstack.net.get_ib_hwaddrs_by_interface = lambda: {}
openstack.net.get_interfaces_by_mac = lambda: {}
main()

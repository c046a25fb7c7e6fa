"""Finds Java 17 or newer for Spark, or installs it: where this runs as root on Debian, from its packages.

Says which it is. Without it this ends with an error where ``CI`` is set; elsewhere it says what is missing,
and the tests that need Spark are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

OLDEST = 17
PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")


def java() -> str | None:
    """The command of a Java that is new enough."""
    home = os.environ.get("JAVA_HOME")
    for command in (home and os.path.join(home, "bin", "java"), shutil.which("java")):  # noqa: PTH118
        if not command:
            continue
        try:
            done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        found = re.search(r'version "(\d+)', done.stderr + done.stdout)
        if found and int(found[1]) >= OLDEST:
            return command
    return None


def install() -> None:
    """One of the packages, if this user may."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
    for package in PACKAGES:
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
        if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return


def main() -> int:
    if java() is None:
        install()
    found = java()
    if found:
        print(f"Java for Spark: {found}")
        return 0
    print(f"Spark needs Java {OLDEST} or newer: install {PACKAGES[0]}, or set JAVA_HOME", file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())

#!/bin/sh
# -B: a test leaves no compiled files behind.
exec python3 -B "$@"

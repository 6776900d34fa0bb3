#!/bin/sh
# conformance.sh PROGRAM ARGUMENT...: the program, as a test.
exec "$@"

# SPDX-License-Identifier: Apache-2.0
#
# Links of the pages, for an installation, which has all pages in one folder. A link to a file that is not installed, or to the
# source of a man page, becomes its text.
s,\[\([^]]*\)\]([^)]*\(\.scd\|internals/\|kubernetes/\|lab/\|tests/\|ARCHITECTURE\|CONTRIBUTING\)[^)]*),\1,g
s,](docs/README\.md,](pages.md,g
s,\[docs/,[,g
s,](\(\.\./\)*\(docs/\)\?,](,g
s,](openapi,](../../verbsd/openapi,g
s,](contrib/,](../../verbsd/,g

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: linked.sh FOLDER
# Each relative link of the installed pages in the folder leads to an installed file, and has a text.
set -euo pipefail

links=0 lost=0
while IFS=: read -r page link; do
	links=$((links + 1))
	[[ $link != \[\]* && ($link == *://* || -e ${page%/*}/${link#*\(}) ]] || {
		echo "an installed page has a link to nothing, or without a text: $page: $link"
		lost=$((lost + 1))
	}
done < <(grep -roP '\[?\]\([^)#]+' "$1" --include=*.md)
[[ $links -gt 0 && $lost -eq 0 ]]

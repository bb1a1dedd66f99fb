#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: release.sh ROOT
# scripts/release refuses what is no release, and makes one whose checksums and signatures hold. It runs in a repository of
# its own, whose scripts/test and scripts/package only write down how they are called.
set -euo pipefail

root=$1
scratch=$(mktemp -d)
export HOME=$scratch/home GNUPGHOME=$scratch/gnupg GIT_CONFIG_GLOBAL=$scratch/home/.gitconfig GIT_CONFIG_NOSYSTEM=1
unset CI GIT_DIR GIT_WORK_TREE
trap 'gpgconf --kill gpg-agent; rm -rf "$scratch"' EXIT
for program in git gpg gpg-agent gpgconf; do
	command -v $program >/dev/null || {
		echo "SKIPPED: $program is not installed"
		exit 77
	}
done

fail() {
	echo "$*"
	exit 1
}

# refused TEXT [OPTION…]: the release ends with a message that has the text, and without a tag
refused() {
	! scripts/release "${@:2}" >"$scratch/said" 2>&1 || fail "not refused: $1"
	grep -qF -- "$1" "$scratch/said" || fail "wanted \"$1\", got: $(<"$scratch/said")"
	[ -z "$(git tag)" ] || fail "a tag is there: $1"
}

commit() { git commit -qam "$1"; }

# The version of the project, so that its own contracts are read as well.
mkdir -p "$HOME" "$scratch/clone/scripts/lib"
mkdir -m 700 "$GNUPGHOME"
cp "$root"/{CMakeLists.txt,openapi.yaml,openapi-extra.yaml,.gitignore} "$scratch/clone"
cp "$root/scripts/release" "$scratch/clone/scripts"
cp "$root/scripts/lib/common.sh" "$scratch/clone/scripts/lib"
cd "$scratch/clone"
version=$(sed -n 's/^project(verbsd VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
printf '# Changelog\n\n## [%s] - unreleased\n\n## [0.0.1] - 2020-01-01\n' "$version" >CHANGELOG.md
cat >scripts/test <<'EOT'
#!/bin/bash
echo "test $* CI=$CI" >>../called
[ ! -e ../tests_fail ] || exit 1
[ ! -e ../somebody_edits ] || echo >>CMakeLists.txt
EOT
cat >scripts/package <<'EOT'
#!/bin/bash
echo "package $1 $2" >>../called
mkdir -p "$3"
echo deb >"$3/verbsd.deb"
echo tar >"$3/verbsd.tar.gz"
EOT
chmod +x scripts/*
git config --global user.name release
git config --global user.email release@example.org
git init -q -b main
git add -A
commit "first"
gpg --batch --quiet --passphrase '' --quick-generate-key release@example.org default default never 2>/dev/null

refused 'has no section "## ['"$version"'] - DATE"'
echo >>openapi.yaml
refused "git status is not clean"
refused "git status is not clean" --prepare
git checkout -q openapi.yaml
scripts/release --prepare
grep -qx "## \[$version\] - $(date -u +%F)" CHANGELOG.md || fail "--prepare writes no date"
refused "- unreleased" --prepare
git checkout -q HEAD~
refused "not the tip of main"
git checkout -q main
sed -i 's/^  version: .*/  version: 9.9.9/' openapi-extra.yaml
commit "a contract of another version"
refused "info.version of openapi-extra.yaml is not $version"
git reset -q --hard HEAD~
refused "gpg can't sign with the key" --key nobody@example.org
[ ! -e ../called ] || fail "tests ran before a refusal: $(<../called)"

scripts/release --dry-run --key release@example.org >"$scratch/said"
grep -q "^+ git tag -u release@example.org " "$scratch/said" || fail "--dry-run lists no tag: $(<"$scratch/said")"
if [ -e ../called ] || [ -e build ] || [ -n "$(git tag)" ]; then fail "--dry-run did something"; fi

touch ../tests_fail
refused "+ env CI=true scripts/test --full"
rm ../tests_fail
touch ../somebody_edits
refused "the files have changed during the tests"
rm ../somebody_edits ../called
git checkout -q CMakeLists.txt

scripts/release --key release@example.org >"$scratch/said" 2>&1 || fail "refused: $(<"$scratch/said")"
printf '%s\n' "test --full CI=true" "package --oci --output" | diff - ../called
gpg --quiet --verify "build/v$version/SHA256SUMS.asc" "build/v$version/SHA256SUMS"
(cd "build/v$version" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" = 2 ])
git verify-tag "v$version"
[ "$(git rev-parse "v$version^{commit}")" = "$(git rev-parse main)" ] || fail "the tag is elsewhere"
grep -q "^build/v$version/verbsd.deb$" "$scratch/said" || fail "it does not say what to upload: $(<"$scratch/said")"
! scripts/release 2>"$scratch/said" || fail "released twice"
grep -qF "is there already" "$scratch/said" || fail "wanted a word on the tag: $(<"$scratch/said")"

git tag -d "v$version" >/dev/null
scripts/release >"$scratch/said" 2>&1 || fail "refused without a key: $(<"$scratch/said")"
[ "$(git cat-file -t "v$version")" = tag ] || fail "the tag is not annotated"
[ ! -e "build/v$version/SHA256SUMS.asc" ] || fail "a signature of the release before is there"

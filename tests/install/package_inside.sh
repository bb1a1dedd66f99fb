#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: package_inside.sh VERSION
# package.sh runs this in a Debian that has the packages of both versions in /packages. There is no systemd: a deb-systemd-invoke
# of the test writes down what the packages ask of it.
set -euo pipefail

version=$1
config=/etc/verbsd/verbsd.yaml
state=/var/lib/verbsd
asked=/packages/asked

fail() {
	echo "$*"
	exit 1
}

# same WHAT FOUND WANTED
same() { [ "$2" = "$3" ] || fail "$1: found \"$2\", wanted \"$3\""; }

step() { echo "-- $*"; }

# apt VERB ARG...: as a person does
apt() {
	: >$asked
	apt-get -q -y -o DPkg::Path="$PATH" -o Dpkg::Options::=--force-confold "$@" >/packages/said 2>&1 || {
		cat /packages/said
		fail "apt-get $* failed"
	}
}

install_new() { apt install /packages/new/*.deb; }
install_older() { apt install --allow-downgrades /packages/older/*.deb; }

# files: the path of each file outside of the records of apt and dpkg
files() {
	find / -xdev \( -path /proc -o -path /packages -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log/apt \) \
		-prune -o -print | grep -vE '^/etc/(passwd|group|shadow|gshadow)-$|^/var/log/(dpkg|alternatives)\.log$' | sort
}

# start: the daemon as its unit starts it
start() {
	install -d -o verbsd -g verbsd -m 0755 /run/verbsd
	install -d -o verbsd -g verbsd -m 0700 $state
	install -d -o verbsd -g verbsd -m 0750 /var/log/verbsd
	STATE_DIRECTORY=$state setpriv --reuid=verbsd --regid=verbsd --clear-groups \
		/usr/bin/verbsd --config $config >/packages/log 2>&1 &
	daemon=$!
	for ((i = 0; i < 300; i++)); do
		! verbsctl events >/packages/events 2>&1 || return 0
		sleep 0.1
	done
	cat /packages/log
	fail "the daemon does not answer"
}

stop() {
	kill "$daemon"
	wait "$daemon" || fail "the daemon ended with status $?: $(cat /packages/log)"
}

servers() { grep -o 'daemon_started *server [0-9a-f]*' /packages/events | awk '{ print $NF }'; }

# --- a new installation --------------------------------------------------------------------------

mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$*" >>%s\n' $asked >/usr/local/bin/deb-systemd-invoke
chmod +x /usr/local/bin/deb-systemd-invoke
files >/packages/before

step "install"
install_new
for file in /usr/bin/verbsd /usr/bin/verbsctl /lib/systemd/system/verbsd{.service,.socket,@.service} \
	/usr/share/man/man{1/verbsctl.1,5/verbsd.yaml.5,8/verbsd.8}.gz /usr/share/verbsd/openapi.yaml \
	/usr/share/doc/verbsd/{copyright,changelog.gz,examples/bash/copy-file} \
	/usr/share/{bash-completion/completions/verbsctl,zsh/vendor-completions/_verbsctl,fish/vendor_completions.d/verbsctl.fish}; do
	[ -s "$file" ] || fail "not installed: $file"
done
/packages/linked.sh /usr/share/doc/verbsd || fail "a page has a link to nothing, as it says above"
same "conffiles" "$(dpkg-query -W -f '${Conffiles}\n' verbsd verbsctl | awk 'NF { print $1 }')" $config
same "shell of the user" "$(getent passwd verbsd | cut -d : -f 7)" /usr/sbin/nologin
same "asked of systemd" "$(<$asked)" "start verbsd.service"
[ -L /etc/systemd/system/multi-user.target.wants/verbsd.service ] || fail "the service is not enabled"
[ ! -e /etc/systemd/system/sockets.target.wants/verbsd.socket ] || fail "the socket is enabled"
same "verbsctl --version" "$(verbsctl --version)" "verbsctl $version"
verbsd --config $config --check-config >/packages/said 2>&1 || fail "--check-config: $(cat /packages/said)"
start
same "runs in the event log" "$(servers | wc -l)" 1
stop

# --- upgrades ------------------------------------------------------------------------------------

step "purge"
apt purge verbsd verbsctl
files | diff /packages/before - || fail "purge: left behind, or taken away, as it says above"
getent passwd verbsd >/dev/null || fail "purge: the user is gone"

step "upgrade, with state"
install_older
start
first=$(servers)
stop
cp $state/state.db /packages/state.db
untouched=$(sha256sum <$config)
install_new
same "version" "$(dpkg-query -W -f '${Version}' verbsd)" "$version"
same "asked of systemd" "$(<$asked)" "restart verbsd.service
try-restart verbsd@*.service"
[ "$(sha256sum <$config)" != "$untouched" ] || fail "the configuration that nobody edited is that of the older version"
cmp $state/state.db /packages/state.db || fail "the upgrade changed the state"
start
servers | grep -q "$first" || fail "the state of the older version is not read"
stop

step "upgrade, with an edited configuration"
install_older
echo 'workers: 2' >>$config
cp $config /packages/edited
install_new
cmp $config /packages/edited || fail "the upgrade changed the edited configuration"
start
same "runs in the event log" "$(servers | wc -l)" 3
stop

# --- the end -------------------------------------------------------------------------------------

step "remove"
apt remove verbsd verbsctl
same "asked of systemd" "$(<$asked)" "stop verbsd.socket verbsd@*.service
stop verbsd.service"
[ ! -e /usr/bin/verbsd ] || fail "remove: the program is there"
cmp $config /packages/edited || fail "remove: the configuration is gone"
[ -s $state/state.db ] || fail "remove: the state is gone"

step "purge"
apt purge verbsd verbsctl
files | diff /packages/before - || fail "purge: left behind, or taken away, as it says above"

# The first shell of Solaris 10 is no POSIX shell; this line is plain enough for it.
test -z "$EXHIBIT_XPG4" && test -x /usr/xpg4/bin/sh && exec env EXHIBIT_XPG4=1 /usr/xpg4/bin/sh "$0" ${1+"$@"}
os=solaris
case $(uname -v) in *illumos* | joyent* | omnios* | oi_*) os=illumos ;; esac
release=$(uname -r)
case $release in 5.10) variant=solaris-10 ;; *) variant=solaris-11 ;; esac
shell=/usr/xpg4/bin/sh
processes="ps -e -o pid= -o ppid="
PATH=/usr/xpg4/bin:$PATH:/usr/bin:/usr/sbin:/sbin:/usr/proc/bin
zone_of_host() { sed -n 's/^TZ=//p' /etc/default/init /etc/TIMEZONE 2> /dev/null | sed 1q; }

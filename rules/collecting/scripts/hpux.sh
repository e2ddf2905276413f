os=hpux
release=$(uname -r)
variant=hpux
shell=/usr/bin/sh
processes="env UNIX95=1 ps -e -o pid= -o ppid="
PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin:/usr/contrib/bin
zone_of_host() { sed -n 's/^TZ=//p' /etc/TIMEZONE | sed 1q; }

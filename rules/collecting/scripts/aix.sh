os=aix
release=$(oslevel)
variant=aix
shell=/usr/bin/sh
processes="ps -e -o pid= -o ppid="
PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin
zone_of_host() { sed -n 's/^TZ=//p' /etc/environment | sed 1q; }
